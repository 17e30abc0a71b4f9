#include "service/tenants/pulled_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "service/tenants/allowed.h"
#include "service/tenants/internal_registry.h"

namespace nutshell::service {

Result<> PulledImages::load() {
  return database_.query(
      "SELECT tenant, backend, image, bytes FROM images", {}, [this](const Row& row) {
        const std::string tenant = row.text(0);
        Account& account = accounts_.of(tenant, Resource::ImageBytes);
        Charge charge = account.take_anyway(static_cast<std::uint64_t>(row.number(3)));
        charges_.with([&](auto& charges) {
          charges[{tenant, row.text(1), row.text(2)}] = std::move(charge);
        });
      });
}

Result<> PulledImages::ensure(const std::string& tenant, const SandboxSpec& spec,
                              const std::string& backend, ImageHolder& holder) {
  const std::string& image = spec.image;
  if (image.empty() || TRY(holder.image_bytes(image))) return {};
  TRY(check_registry(tenant, spec));
  // One pull at a time for a tenant, because the size is known only afterwards.
  const auto alone = locks_.take(tenant);
  if (TRY(holder.image_bytes(image))) return {};
  if (accounts_.of(tenant, Resource::ImageBytes).left() == 0) forget_gone(tenant, backend, holder);
  if (accounts_.of(tenant, Resource::ImageBytes).left() == 0)
    return accounts_.refusal(tenant, Resource::ImageBytes);
  return pull({tenant, backend, image}, account_for(spec), holder);
}

Result<> PulledImages::check_registry(const std::string& tenant, const SandboxSpec& spec) const {
  if (spec.image_naming != ImageNaming::NameOnly) return {};
  const std::string registry = registry_of_image(spec.image);
  const auto rules = rules_.get();
  const Allowed& allowed = rules->allowed_of(tenant);
  const auto names_it = [&registry](const std::string& image) {
    return registry_of_image(image) == registry;
  };
  const bool is_listed = std::find(allowed.registries.begin(), allowed.registries.end(),
                                   registry) != allowed.registries.end() ||
                         std::any_of(allowed.images.begin(), allowed.images.end(), names_it);
  if (is_listed || !is_internal_registry(registry)) return {};
  return failure(
      ErrorCode::PermissionDenied,
      fmt::format("registry '{:.200}' is not of the internet: the operator can list it as "
                  "allowed, or pull the image",
                  registry));
}

Result<> PulledImages::pull(const Key& key, PullAccount account, ImageHolder& holder) {
  const auto& [tenant, backend, image] = key;
  // The image was removed since the tenant was charged.
  charges_.with([&key](auto& charges) { charges.erase(key); });
  TRY(holder.fetch_image(image, account));
  const std::uint64_t bytes = TRY(holder.image_bytes(image)).value_or(0);
  auto charge = accounts_.of(tenant, Resource::ImageBytes).take(bytes);
  if (!charge) {
    forget_gone(tenant, backend, holder);
    charge = accounts_.of(tenant, Resource::ImageBytes).take(bytes);
  }
  if (!charge) {
    Failure refused = accounts_.refusal(tenant, Resource::ImageBytes);
    if (auto removed = holder.remove_image(image); !removed)
      return while_doing(fmt::format("remove image {}, for which there is no room", image),
                         std::move(removed).error());
    return refused;
  }
  TRY(
      database_.run("INSERT INTO images(tenant, backend, image, bytes) VALUES(?,?,?,?) "
                    "ON CONFLICT(tenant, backend, image) DO UPDATE SET bytes=excluded.bytes",
                    {tenant, backend, image, static_cast<std::int64_t>(bytes)}));
  charges_.with([&](auto& charges) { charges[key] = std::move(*charge); });
  return {};
}

void PulledImages::forget_gone(const std::string& tenant, const std::string& backend,
                               ImageHolder& holder) {
  const auto keys = charges_.with([&](const auto& charges) {
    std::vector<Key> some;
    for (const auto& [key, charge] : charges)
      if (std::get<0>(key) == tenant && std::get<1>(key) == backend) some.push_back(key);
    return some;
  });
  for (const Key& key : keys) {
    const auto bytes = holder.image_bytes(std::get<2>(key));
    if (!bytes || *bytes) continue;  // the image exists, or the engine gave no answer
    (void)database_.run("DELETE FROM images WHERE tenant=? AND backend=? AND image=?",
                        {tenant, backend, std::get<2>(key)});  // a row that stays is checked again
    charges_.with([&key](auto& charges) { charges.erase(key); });
  }
}

}  // namespace nutshell::service
