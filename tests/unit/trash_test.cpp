// The trash, and the references: every state that an interruption can leave, made by hand.
#include "nmstore/store/trash.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nmstore/store/manifest.hpp"
#include "nmstore/store/reference.hpp"
#include "nmstore/store/seal.hpp"
#include "tests/support/scratch.hpp"

namespace pfnm {
namespace {

using test::exists;
using test::names_in;
using test::read_text;
using test::write_text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Trashing : public test::ScratchTest {
 protected:
  void SetUp() override {
    const auto made = create_store(fs_, store_.paths.root());
    ASSERT_TRUE(made.has_value());
  }
  // Sealed, as far as the trash looks at it.
  void seal_install(const std::string& content = "m") {
    write_text(manifest_file(install_), content, 0444);
    write_text(install_ + "/node_modules/x/index.js", content, 0444);
    ASSERT_EQ(::chmod(install_.c_str(), 0555), 0);
    publish(content);
  }
  void publish(const std::string& content) {
    Seal seal;
    seal.install = name_;
    seal.manifest_checksum = checksum(content);
    seal.sealed_at = 1;
    seal.boot = "b";
    seal.builder = "npm";
    const auto published = publish_seal(fs_, store_.paths, seal);
    ASSERT_TRUE(published.has_value());
  }
  std::string retire() {
    const auto id = retire_install(fs_, store_, name_, "unreferenced");
    EXPECT_TRUE(id.has_value()) << (id.has_value() ? "" : id.error().message());
    return id.value_or("");
  }
  [[nodiscard]] Trash list() const { return list_trash(store_).value(); }
  [[nodiscard]] TrashItem only_item() const {
    const Trash trash = list();
    EXPECT_EQ(trash.items.size(), 1U);
    return trash.items.empty() ? TrashItem{} : trash.items.front();
  }
  [[nodiscard]] std::string in_trash(const std::string& name) const { return store_.paths.trash() + "/" + name; }
  void rename_to(const std::string& from, const std::string& to) {
    ASSERT_EQ(::rename(from.c_str(), to.c_str()), 0) << from;
  }
  void expect_taken_back(TakenBack expected) {
    const auto taken = take_back(fs_, store_, name_);
    ASSERT_TRUE(taken.has_value()) << taken.error().message();
    EXPECT_EQ(*taken, expected);
  }
  void expect_in_its_place() const {
    EXPECT_TRUE(exists(store_.paths.seal(name_)));
    EXPECT_EQ(read_text(install_ + "/node_modules/x/index.js"), "m");
    EXPECT_EQ(test::photograph(install_).at("").mode, 0555U);
    EXPECT_THAT(names_in(store_.paths.trash()), IsEmpty());
  }

  Fs fs_;
  Store store_{StorePaths(at("store"))};
  InstallName name_{std::string(64, 'a')};
  std::string install_ = store_.paths.install(name_);
};

TEST_F(Trashing, RetireUnpublishesAndMoves) {
  seal_install();
  const std::string id = retire();
  EXPECT_FALSE(exists(install_));
  EXPECT_FALSE(exists(store_.paths.seal(name_)));
  const TrashItem item = only_item();
  EXPECT_EQ(item.id, id);
  EXPECT_EQ(item.state, TrashState::whole);
  EXPECT_EQ(item.from, install_);
  EXPECT_EQ(item.why, "unreferenced");
  EXPECT_EQ(item.install, name_);
  EXPECT_GT(item.trashed_at, 0);
  EXPECT_THAT(list().unexplained, IsEmpty());
}

TEST_F(Trashing, TakeBackUndoesIt) {
  seal_install();
  const test::Tree before = test::photograph(install_);
  retire();
  expect_taken_back(TakenBack::yes);
  expect_in_its_place();
  EXPECT_THAT(test::differences(before, test::photograph(install_)), IsEmpty());
  expect_taken_back(TakenBack::no);
}

TEST_F(Trashing, AnInterruptedBuildIsNotTakenBack) {
  write_text(intent_file(install_), "x");
  const std::string id = retire();
  EXPECT_EQ(only_item().state, TrashState::whole);
  EXPECT_FALSE(exists(in_trash(id + ".seal")));
  expect_taken_back(TakenBack::no);
}

TEST_F(Trashing, RetireRefusesWhatIsNoDirectory) {
  write_text(at("precious/file"), "x");
  ASSERT_EQ(::symlink(at("precious").c_str(), install_.c_str()), 0);
  publish("m");
  const auto id = retire_install(fs_, store_, name_, "unreferenced");
  ASSERT_FALSE(id.has_value());
  EXPECT_EQ(id.error().code, Errc::foreign);
  EXPECT_TRUE(exists(store_.paths.seal(name_)));
  EXPECT_THAT(names_in(store_.paths.trash()), IsEmpty());
}

TEST_F(Trashing, ADoomedOneIsNotTakenBack) {
  seal_install();
  retire();
  const auto doomed = doom(fs_, store_, only_item());
  ASSERT_TRUE(doomed.has_value());
  EXPECT_TRUE(exists(in_trash(*doomed)));
  EXPECT_EQ(only_item().state, TrashState::doomed);
  expect_taken_back(TakenBack::no);
  EXPECT_EQ(doom(fs_, store_, only_item()).value(), *doomed) << "gone on with by the next run";
  ASSERT_TRUE(forget(fs_, store_, only_item()).has_value());
  EXPECT_THAT(names_in(store_.paths.trash()), ElementsAre(*doomed));
  EXPECT_THAT(list().unexplained, ElementsAre(*doomed)) << "the record goes last";
}

TEST_F(Trashing, OneThatWasTakenBackIsNotDoomed) {
  seal_install();
  retire();
  const TrashItem item = only_item();
  expect_taken_back(TakenBack::yes);
  const auto doomed = doom(fs_, store_, item);
  ASSERT_FALSE(doomed.has_value());
  EXPECT_EQ(doomed.error().code, Errc::not_found);
  expect_in_its_place();
}

// Stopped between the seal's rename and the directory's; or a taking back between the directory's and the seal's.
TEST_F(Trashing, APendingOneIsPutBack) {
  for (const bool by_link : {false, true}) {
    seal_install();
    const std::string id = retire();
    rename_to(in_trash(id), install_);
    EXPECT_EQ(only_item().state, TrashState::pending);
    if (by_link) {
      expect_taken_back(TakenBack::yes);
    } else {
      ASSERT_TRUE(settle_pending(fs_, store_, only_item()).has_value());
    }
    expect_in_its_place();
    ASSERT_EQ(::chmod(install_.c_str(), 0755), 0);
    test::delete_tree(install_);
    ASSERT_EQ(::unlink(store_.paths.seal(name_).c_str()), 0);
  }
}

TEST_F(Trashing, AnotherTreeInItsPlaceIsNotSealedByIt) {
  seal_install();
  const std::string id = retire();
  test::delete_tree(in_trash(id));
  write_text(manifest_file(install_), "another");
  EXPECT_EQ(only_item().state, TrashState::pending);
  expect_taken_back(TakenBack::no);
  ASSERT_TRUE(settle_pending(fs_, store_, only_item()).has_value());
  EXPECT_FALSE(exists(store_.paths.seal(name_)));
  EXPECT_EQ(read_text(manifest_file(install_)), "another");
  EXPECT_THAT(names_in(store_.paths.trash()), IsEmpty());
}

TEST_F(Trashing, ASealThatIsLeftOfADeletedOneIsDropped) {
  seal_install();
  const std::string id = retire();
  test::delete_tree(in_trash(id));
  ASSERT_TRUE(settle_pending(fs_, store_, only_item()).has_value());
  EXPECT_THAT(names_in(store_.paths.trash()), IsEmpty());
  EXPECT_FALSE(exists(store_.paths.seal(name_)));
}

TEST_F(Trashing, AnOldSealDoesNotReplaceANewOne) {
  seal_install();
  const std::string id = retire();
  test::delete_tree(in_trash(id));
  seal_install("built anew");
  const std::string seal = read_text(store_.paths.seal(name_));
  ASSERT_TRUE(settle_pending(fs_, store_, only_item()).has_value());
  EXPECT_EQ(read_text(store_.paths.seal(name_)), seal);
  EXPECT_THAT(names_in(store_.paths.trash()), IsEmpty());
}

TEST_F(Trashing, ARecordAloneIsDropped) {
  seal_install();
  const std::string id = retire();
  rename_to(in_trash(id), install_);
  rename_to(in_trash(id + ".seal"), store_.paths.seal(name_));
  EXPECT_EQ(only_item().state, TrashState::empty);
  ASSERT_TRUE(settle_pending(fs_, store_, only_item()).has_value());
  EXPECT_THAT(names_in(store_.paths.trash()), IsEmpty());
  EXPECT_TRUE(exists(store_.paths.seal(name_)));
}

TEST_F(Trashing, SettlingLeavesAWholeOneAlone) {
  seal_install();
  retire();
  TrashItem stale = only_item();
  stale.state = TrashState::empty;  // as it was read before the directory came
  ASSERT_TRUE(settle_pending(fs_, store_, stale).has_value());
  EXPECT_EQ(only_item().state, TrashState::whole);
  expect_taken_back(TakenBack::yes);
}

TEST_F(Trashing, WhatNoRecordExplainsIsNamed) {
  write_text(in_trash("mystery/file"), "x");
  write_text(in_trash("t-2"), "x");
  write_text(in_trash("t-3.record"), "damaged");
  write_text(in_trash("t-3/file"), "x");
  write_text(in_trash("d-4/file"), "x");
  write_text(in_trash(".pfnm-tmp-5"), "a record that is being written");
  EXPECT_THAT(list().unexplained, ElementsAre("d-4", "mystery", "t-2", "t-3", "t-3.record"));
  EXPECT_THAT(list().items, IsEmpty());
}

TEST_F(Trashing, MovesAnythingElse) {
  write_text(at("tree/file"), "x");
  ASSERT_EQ(::chmod(at("tree").c_str(), 0555), 0);
  const auto moved = move_to_trash(fs_, store_, at("tree"), "--force");
  ASSERT_TRUE(moved.has_value()) << moved.error().message();
  EXPECT_EQ(read_text(*moved + "/file"), "x");
  EXPECT_FALSE(only_item().install);
  EXPECT_EQ(only_item().from, at("tree"));
}

TEST_F(Trashing, AFailedMoveLeavesNothing) {
  EXPECT_FALSE(move_to_trash(fs_, store_, at("not-there"), "x").has_value());
  for (const TrashItem& item : list().items) EXPECT_EQ(item.state, TrashState::empty);
  EXPECT_THAT(list().unexplained, IsEmpty());
}

class Places : public Trashing {
 protected:
  Reference reference(const std::string& worktree, const std::string& below = {}) {
    Reference reference;
    reference.project = worktree + (below.empty() ? "" : "/" + below);
    reference.worktree = worktree;
    reference.repository = "/r/.git";
    reference.install = name_;
    reference.layout = "links";
    reference.identity = {"uuid:1", 1, 2, 3};
    reference.boot = "boot";
    reference.announced_at = 1000;
    return reference;
  }
  void announce(const Reference& reference) {
    const auto announced = announce_reference(fs_, store_, reference);
    ASSERT_TRUE(announced.has_value()) << announced.error().message();
  }
  [[nodiscard]] std::vector<Reference> all() const { return list_references(store_).value(); }
  [[nodiscard]] std::vector<std::string> roots() const {
    std::vector<std::string> roots;
    const auto places = list_places(store_);
    for (const KnownPlace& place : places.value()) roots.push_back(place.root + "|" + place.below);
    std::sort(roots.begin(), roots.end());
    return roots;
  }
};

TEST_F(Places, OfAReference) {
  const KnownPlace place = place_of(reference("/w/one", "apps/web"));
  EXPECT_EQ(place.repository, "/r/.git");
  EXPECT_EQ(place.root, "/w");
  EXPECT_EQ(place.below, "apps/web");
  EXPECT_EQ(place.volume, "uuid:1");
  Reference old = reference("/w/one");
  old.worktree.clear();
  EXPECT_EQ(place_of(old).root, "/w");
  EXPECT_EQ(place_of(old).below, "");
  EXPECT_EQ(place_of(reference("/one")).root, "/");
}

TEST_F(Places, AReferenceIsReadAsItWasWritten) {
  announce(reference("/w/with space\n%"));
  ASSERT_EQ(all().size(), 1U);
  const Reference read = all().front();
  EXPECT_EQ(read.project, "/w/with space\n%");
  EXPECT_EQ(read.worktree, "/w/with space\n%");
  EXPECT_EQ(read.install, name_);
  EXPECT_EQ(read.identity.volume, "uuid:1");
  EXPECT_EQ(read.identity.birth_ns, 3);
  EXPECT_EQ(read.announced_at, 1000);
}

TEST_F(Places, AreRememberedWhenAReferenceGoes) {
  announce(reference("/w/one", "apps/web"));
  EXPECT_THAT(roots(), IsEmpty()) << "the reference itself says it";
  ASSERT_TRUE(drop_reference(fs_, store_, "/w/one/apps/web").has_value());
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_THAT(roots(), ElementsAre("/w|apps/web"));
  ASSERT_TRUE(drop_reference(fs_, store_, "/w/one/apps/web").has_value()) << "twice is fine";
}

TEST_F(Places, AreRememberedWhenARecordIsReplaced) {
  announce(reference("/w/one"));
  Reference moved = reference("/w/one");
  moved.repository = "/other/.git";
  announce(moved);
  EXPECT_THAT(roots(), ElementsAre("/w|"));
  EXPECT_EQ(list_places(store_)->front().repository, "/r/.git");
}

TEST_F(Places, AreRememberedWhenADeadReferenceIsDropped) {
  announce(reference("/w/one"));
  ASSERT_TRUE(drop_dead_reference(fs_, store_, all().front()).has_value());
  EXPECT_THAT(names_in(store_.paths.references()), IsEmpty());
  EXPECT_THAT(roots(), ElementsAre("/w|"));
}

TEST_F(Places, ADeadReferenceThatWasAnnouncedAnewStays) {
  announce(reference("/w/one"));
  const Reference seen = all().front();
  Reference again = reference("/w/one");
  again.announced_at = 2000;
  announce(again);
  ASSERT_TRUE(drop_dead_reference(fs_, store_, seen).has_value());
  ASSERT_EQ(all().size(), 1U);
  EXPECT_EQ(all().front().announced_at, 2000);
}

TEST_F(Places, CanBeForgotten) {
  const KnownPlace place = place_of(reference("/w/one"));
  ASSERT_TRUE(remember_place(fs_, store_, place).has_value());
  ASSERT_TRUE(remember_place(fs_, store_, place).has_value());
  EXPECT_EQ(roots().size(), 1U);
  ASSERT_TRUE(forget_place(fs_, store_, place).has_value());
  EXPECT_THAT(roots(), IsEmpty());
}

TEST_F(Places, ARecordThatCannotBeReadIsAnError) {
  announce(reference("/w/one"));
  for (const char* damaged :
       {"", "pfnm-reference 1\n", "pfnm-reference 2\nproject /w\nend\n", "pfnm-reference 1\nproject /w\nend\n",
        "pfnm-reference 1\nproject /w\ninstall ../x\nend\n"}) {
    write_text(store_.paths.reference("damaged"), damaged);
    EXPECT_FALSE(list_references(store_).has_value()) << damaged;
  }
  write_text(store_.paths.known_places() + "/damaged", "pfnm-place 1\nroot ");
  EXPECT_FALSE(list_places(store_).has_value());
}

TEST_F(Places, AnnouncingAndLeavingSayThatTheInstallIsUsed) {
  write_text(store_.paths.lease(name_), "");
  const std::array<timespec, 2> old{{{1000, 0}, {1000, 0}}};
  const auto age = [&] { ASSERT_EQ(::utimensat(AT_FDCWD, store_.paths.lease(name_).c_str(), old.data(), 0), 0); };
  age();
  EXPECT_EQ(last_leased(store_, name_).value(), 1000);
  announce(reference("/w/one"));
  EXPECT_GT(last_leased(store_, name_).value(), 1000);
  age();
  Reference another = reference("/w/one");
  another.install = InstallName{std::string(64, 'b')};
  announce(another);
  EXPECT_GT(last_leased(store_, name_).value(), 1000) << "left for another";
  EXPECT_EQ(last_leased(store_, another.install).value(), 0) << "makes no lease";
  announce(reference("/w/two"));
  age();
  ASSERT_TRUE(drop_reference(fs_, store_, "/w/two").has_value());
  EXPECT_GT(last_leased(store_, name_).value(), 1000);
}

}  // namespace
}  // namespace pfnm
