#include "nmstore/store/manifest.hpp"

#include <fcntl.h>

#include <cstring>

namespace pfnm {
namespace {

constexpr std::array<char, 8> k_magic = {'p', 'f', 'n', 'm', 'm', 'a', 'n', '1'};

// On disk, in the byte order of the machine that built the install (a store is one machine's).
struct Header {
  std::array<char, 8> magic{};
  std::uint32_t count = 0;
  std::uint32_t record_size = 0;
  std::uint64_t string_bytes = 0;
};
struct Record {
  std::uint32_t name_offset = 0;
  std::uint32_t name_length = 0;
  std::uint32_t link_offset = 0;
  std::uint32_t link_length = 0;
  std::uint32_t parent = 0;
  std::uint32_t first_child = 0;
  std::uint32_t child_count = 0;
  std::uint32_t type_and_mode = 0;  // type << 16 | permission bits
  std::uint64_t size = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::array<std::uint8_t, 32> digest{};
};
static_assert(sizeof(Header) == 24);
static_assert(sizeof(Record) == 96);

template <typename T>
void append_raw(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::uint32_t add_string(std::string& strings, std::string_view text) {
  const auto offset = static_cast<std::uint32_t>(strings.size());
  strings += text;
  return offset;
}

Record to_record(const ManifestEntry& entry, std::string& strings) {
  Record record;
  record.name_offset = add_string(strings, entry.name);
  record.name_length = static_cast<std::uint32_t>(entry.name.size());
  record.link_offset = add_string(strings, entry.link);
  record.link_length = static_cast<std::uint32_t>(entry.link.size());
  record.parent = entry.parent;
  record.first_child = entry.first_child;
  record.child_count = entry.child_count;
  record.type_and_mode = (static_cast<std::uint32_t>(entry.type) << 16U) | (entry.mode & 07777U);
  record.size = entry.size;
  record.ino = entry.ino;
  record.mtime_ns = entry.mtime_ns;
  record.ctime_ns = entry.ctime_ns;
  record.digest = entry.digest.bytes;
  return record;
}

}  // namespace

std::string render_manifest(const std::vector<ManifestEntry>& entries) {
  std::string strings;
  std::string records;
  records.reserve(entries.size() * sizeof(Record));
  for (const ManifestEntry& entry : entries) append_raw(records, to_record(entry, strings));
  Header header;
  header.magic = k_magic;
  header.count = static_cast<std::uint32_t>(entries.size());
  header.record_size = sizeof(Record);
  header.string_bytes = strings.size();
  std::string out;
  out.reserve(sizeof(header) + records.size() + strings.size());
  append_raw(out, header);
  out += records;
  out += strings;
  return out;
}

Result<ManifestView> ManifestView::open(const std::string& path) {
  ManifestView view;
  PFNM_TRY_ASSIGN(view.file_, MappedFile::open(AT_FDCWD, path));
  const std::string_view bytes = view.file_.bytes();
  Header header;
  const auto corrupt = [&] { return fail(Error::make(Errc::corrupt, "read", path, "it is not a whole manifest")); };
  if (bytes.size() < sizeof(header)) return corrupt();
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != k_magic || header.record_size != sizeof(Record) || header.count == 0) return corrupt();
  const std::uint64_t records = std::uint64_t{header.count} * sizeof(Record);
  // Without a sum that a damaged header could make wrap.
  const std::uint64_t rest = bytes.size() - sizeof(header);
  if (records > rest || header.string_bytes != rest - records) return corrupt();
  view.count_ = header.count;
  view.records_ = bytes.substr(sizeof(header), records);
  view.strings_ = bytes.substr(sizeof(header) + records);
  return view;
}

std::string_view ManifestView::text(std::uint32_t offset, std::uint32_t length) const {
  if (offset > strings_.size() || length > strings_.size() - offset) return {};
  return strings_.substr(offset, length);
}

ManifestView::Entry ManifestView::at(EntryIndex index) const {
  Entry entry;
  entry.index = index;
  if (index >= count_) return entry;
  Record record;
  std::memcpy(&record, records_.data() + std::size_t{index} * sizeof(Record), sizeof(record));
  entry.name = text(record.name_offset, record.name_length);
  entry.link = text(record.link_offset, record.link_length);
  entry.parent = record.parent;
  // A directory's children come after it; anything else is damage, and would let a walk run in circles.
  const bool sane = record.first_child > index && record.first_child <= count_ && record.child_count <= count_ - std::min(count_, record.first_child);
  entry.first_child = sane ? record.first_child : 0;
  entry.child_count = sane ? record.child_count : 0;
  const std::uint32_t type = record.type_and_mode >> 16U;
  entry.type = type <= 2 ? static_cast<FileType>(type) : FileType::other;
  entry.mode = record.type_and_mode & 07777U;
  entry.size = record.size;
  entry.ino = record.ino;
  entry.mtime_ns = record.mtime_ns;
  entry.ctime_ns = record.ctime_ns;
  entry.digest.bytes = record.digest;
  return entry;
}

std::optional<ManifestView::Entry> ManifestView::find_child(EntryIndex directory, std::string_view name) const {
  const Entry parent = at(directory);
  EntryIndex low = parent.first_child;
  EntryIndex high = parent.first_child + parent.child_count;
  while (low < high) {
    const EntryIndex middle = low + (high - low) / 2;
    Entry entry = at(middle);
    if (entry.name == name) return entry;
    if (entry.name < name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::nullopt;
}

std::optional<ManifestView::Entry> ManifestView::find(std::string_view path) const {
  Entry entry = at(k_manifest_root);
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto child = find_child(entry.index, path.substr(0, slash));
    if (!child) return std::nullopt;
    entry = *child;
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return entry;
}

std::string ManifestView::path_of(EntryIndex index) const {
  if (index == k_manifest_root) return {};
  const Entry entry = at(index);
  if (entry.parent >= index) return std::string(entry.name);  // damage
  const std::string parent = path_of(entry.parent);
  return parent.empty() ? std::string(entry.name) : parent + "/" + std::string(entry.name);
}

namespace {

void hash_entry(Hasher& hasher, const ManifestView& manifest, const ManifestView::Entry& entry) {
  hasher.update_field(entry.name);
  const bool executable = entry.type == FileType::regular && (entry.mode & 0111U) != 0;
  hasher.update_field(std::to_string(static_cast<int>(entry.type)) + (executable ? " x" : ""));
  hasher.update_field(entry.link);
  hasher.update_field(std::to_string(entry.child_count));
  if (entry.type == FileType::regular) hasher.update_field(entry.digest.to_hex());
  for (std::uint32_t i = 0; i < entry.child_count; ++i) {
    const auto child = manifest.at(entry.first_child + i);
    // A child names its parent; in a damaged file ranges may overlap, and the walk would not be one of a tree.
    if (child.parent == entry.index) hash_entry(hasher, manifest, child);
  }
}

// The root's own name is left out: a copy keeps its digest when it is moved.
ManifestView::Entry unnamed(ManifestView::Entry entry) {
  entry.name = {};
  return entry;
}

Status hash_disk_entry(Hasher& hasher, int dir, const std::string& name, std::string_view shown_name) {
  PFNM_TRY_ASSIGN(const FileStat st, stat_at(dir, name));
  const bool executable = st.is_regular() && (st.mode & 0111U) != 0;
  hasher.update_field(shown_name);
  hasher.update_field(std::to_string(static_cast<int>(st.type())) + (executable ? " x" : ""));
  std::string link;
  if (st.is_symlink()) {
    PFNM_TRY_ASSIGN(link, read_link_at(dir, name));
  }
  hasher.update_field(link);
  std::vector<DirEntry> children;
  Fd fd;
  if (st.is_dir()) {
    PFNM_TRY_ASSIGN(fd, open_dir_at(dir, name));
    PFNM_TRY_ASSIGN(children, list_dir(fd.get(), name));
  }
  hasher.update_field(std::to_string(children.size()));
  if (st.is_regular()) {
    PFNM_TRY_ASSIGN(const std::string content, read_file(dir, name));
    hasher.update_field(sha256(content).to_hex());
  }
  for (const DirEntry& child : children) PFNM_TRY(hash_disk_entry(hasher, fd.get(), child.name, child.name));
  return {};
}

}  // namespace

Digest subtree_digest(const ManifestView& manifest, EntryIndex directory) {
  Hasher hasher;
  hash_entry(hasher, manifest, unnamed(manifest.at(directory)));
  return hasher.finish();
}

Result<Digest> subtree_digest_on_disk(int dir, const std::string& path) {
  Hasher hasher;
  PFNM_TRY(hash_disk_entry(hasher, dir, path, {}));
  return hasher.finish();
}

}  // namespace pfnm
