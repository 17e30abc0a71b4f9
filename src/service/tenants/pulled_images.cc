#include "service/tenants/pulled_images.h"

#include <fmt/format.h>

#include <vector>

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

Result<> PulledImages::ensure(const std::string& tenant, const std::string& backend,
                              const std::string& image, ImageHolder& holder) {
  if (image.empty() || TRY(holder.image_bytes(image))) return {};
  // One pull at a time for a tenant, because the size is known only afterwards.
  const auto alone = locks_.take(tenant);
  if (TRY(holder.image_bytes(image))) return {};
  if (accounts_.of(tenant, Resource::ImageBytes).left() == 0) forget_gone(tenant, backend, holder);
  if (accounts_.of(tenant, Resource::ImageBytes).left() == 0)
    return accounts_.refusal(tenant, Resource::ImageBytes);
  return pull({tenant, backend, image}, holder);
}

Result<> PulledImages::pull(const Key& key, ImageHolder& holder) {
  const auto& [tenant, backend, image] = key;
  // The image was removed since the tenant was charged.
  charges_.with([&key](auto& charges) { charges.erase(key); });
  TRY(holder.fetch_image(image));
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
