// Never run: type-checked only (README, limits).
#include <libproc.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "nmstore/platform/mounts.hpp"
#include "nmstore/platform/process_uses.hpp"

namespace pfnm {
namespace {

class Surveyor {
 public:
  explicit Surveyor(const std::function<bool(std::string_view)>& wanted) : wanted_(wanted) {}

  Result<ProcessSurvey> run() {
    const int needed = ::proc_listallpids(nullptr, 0);
    if (needed <= 0) return fail_errno(errno, "list", "the processes");
    std::vector<pid_t> pids(static_cast<std::size_t>(needed) + 64);
    const int count = ::proc_listallpids(pids.data(), static_cast<int>(pids.size() * sizeof(pid_t)));
    if (count <= 0) return fail_errno(errno, "list", "the processes");
    pids.resize(static_cast<std::size_t>(count));
    for (const pid_t pid : pids) look_at(pid);
    return std::move(survey_);
  }

 private:
  void look_at(pid_t pid) {
    pid_ = static_cast<std::uint64_t>(pid);
    proc_vnodepathinfo paths{};
    const int got = ::proc_pidinfo(pid, PROC_PIDVNODEPATHINFO, 0, &paths, sizeof(paths));
    if (got <= 0) {
      proc_bsdinfo who{};
      const bool known = ::proc_pidinfo(pid, PROC_PIDTBSDINFO, 0, &who, sizeof(who)) > 0;
      if (known && who.pbi_uid == ::geteuid()) ++survey_.hidden;
      return;
    }
    take(paths.pvi_cdir.vip_path, UseKind::working_directory);
    take(paths.pvi_rdir.vip_path, UseKind::root_directory);
    std::array<char, PROC_PIDPATHINFO_MAXSIZE> executable{};
    if (::proc_pidpath(pid, executable.data(), executable.size()) > 0) take(executable.data(), UseKind::executable);
    take_descriptors(pid);
    take_mappings(pid);
  }

  void take_descriptors(pid_t pid) {
    const int size = ::proc_pidinfo(pid, PROC_PIDLISTFDS, 0, nullptr, 0);
    if (size <= 0) return;
    std::vector<proc_fdinfo> descriptors(static_cast<std::size_t>(size) / sizeof(proc_fdinfo));
    const int got = ::proc_pidinfo(pid, PROC_PIDLISTFDS, 0, descriptors.data(), size);
    descriptors.resize(got > 0 ? static_cast<std::size_t>(got) / sizeof(proc_fdinfo) : 0);
    for (const proc_fdinfo& descriptor : descriptors) {
      if (descriptor.proc_fdtype != PROX_FDTYPE_VNODE) continue;
      vnode_fdinfowithpath file{};
      if (::proc_pidfdinfo(pid, descriptor.proc_fd, PROC_PIDFDVNODEPATHINFO, &file, sizeof(file)) > 0)
        take(file.pvip.vip_path, UseKind::open_file);
    }
  }

  void take_mappings(pid_t pid) {
    proc_regionwithpathinfo region{};
    std::uint64_t address = 0;
    while (::proc_pidinfo(pid, PROC_PIDREGIONPATHINFO, address, &region, sizeof(region)) > 0) {
      take(region.prp_vip.vip_path, UseKind::mapping);
      address = region.prp_prinfo.pri_address + region.prp_prinfo.pri_size;
    }
  }

  void take(std::string_view path, UseKind kind) {
    if (!path.empty() && wanted_(path)) survey_.uses.push_back({pid_, kind, std::string(path)});
  }

  const std::function<bool(std::string_view)>& wanted_;
  ProcessSurvey survey_;
  std::uint64_t pid_ = 0;
};

}  // namespace

Result<std::vector<Mount>> list_mounts() {
  struct statfs* entries = nullptr;
  const int count = ::getmntinfo(&entries, MNT_NOWAIT);
  if (count <= 0) return fail_errno(errno, "list", "the mounts");
  std::vector<Mount> mounts;
  for (int i = 0; i < count; ++i) mounts.push_back({"/", entries[i].f_mntonname, entries[i].f_fstypename});
  return mounts;
}

Result<ProcessSurvey> survey_processes(const std::function<bool(std::string_view)>& wanted) {
  return Surveyor(wanted).run();
}

}  // namespace pfnm
