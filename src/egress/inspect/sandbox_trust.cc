#include "egress/inspect/sandbox_trust.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include <array>
#include <memory>

#include "http/tls/tls_transport.h"

namespace nutshell::egress {
namespace {

using http::tls_failure;
using Bytes = std::unique_ptr<BIO, decltype(&BIO_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

// Java's own: its keytool and documents use no other. It protects nothing here.
constexpr const char* kPassword = "changeit";
// Java takes a certificate without a key for a trusted one only if it has this attribute of
// Oracle's.
constexpr const char* kTrusted = "2.16.840.1.113894.746875.1.1";

void free_bags(STACK_OF(PKCS12_SAFEBAG) * bags) {
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}
void free_safes(STACK_OF(PKCS7) * safes) {
  sk_PKCS7_pop_free(safes, PKCS7_free);
}

bool add_trusted(STACK_OF(PKCS12_SAFEBAG) * *bags, X509* certificate, int number) {
  const std::unique_ptr<ASN1_OBJECT, decltype(&ASN1_OBJECT_free)> any_use(
      OBJ_txt2obj("2.5.29.37.0", 1), ASN1_OBJECT_free);
  PKCS12_SAFEBAG* bag = PKCS12_add_cert(bags, certificate);
  const std::string alias = fmt::format("authority-{}", number);
  return bag != nullptr && any_use != nullptr &&
         PKCS12_add_friendlyname_utf8(bag, alias.c_str(), -1) == 1 &&
         PKCS12_add1_attr_by_txt(bag, kTrusted, V_ASN1_OBJECT,
                                 reinterpret_cast<const unsigned char*>(any_use.get()), -1) == 1;
}

Failure no_store() {
  return tls_failure(ErrorCode::Internal, "make a trust store for Java");
}

Result<std::string> java_store(std::string_view pem) {
  const Bytes text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  STACK_OF(PKCS12_SAFEBAG)* bags = nullptr;
  bool is_whole = text != nullptr;
  for (int number = 1; is_whole; ++number) {
    const Certificate certificate(PEM_read_bio_X509_AUX(text.get(), nullptr, nullptr, nullptr),
                                  X509_free);
    if (!certificate) break;
    is_whole = add_trusted(&bags, certificate.get(), number);
  }
  const std::unique_ptr<STACK_OF(PKCS12_SAFEBAG), decltype(&free_bags)> owned_bags(bags, free_bags);
  STACK_OF(PKCS7)* safes = nullptr;
  is_whole = is_whole && PKCS12_add_safe(&safes, bags, -1, 0, nullptr) == 1;
  const std::unique_ptr<STACK_OF(PKCS7), decltype(&free_safes)> owned_safes(safes, free_safes);
  if (!is_whole) return no_store();
  const std::unique_ptr<PKCS12, decltype(&PKCS12_free)> store(PKCS12_add_safes(safes, 0),
                                                              PKCS12_free);
  const Bytes made(BIO_new(BIO_s_mem()), BIO_free);
  if (!store || !made ||
      PKCS12_set_mac(store.get(), kPassword, -1, nullptr, 0, 2048, EVP_sha256()) != 1 ||
      i2d_PKCS12_bio(made.get(), store.get()) != 1) {
    return no_store();
  }
  char* begin = nullptr;
  const long size = BIO_get_mem_data(made.get(), &begin);
  return std::string(begin, static_cast<std::size_t>(size));
}

}  // namespace

Result<SandboxTrust> trust_in_sandbox(const std::string& directory, std::string_view authority,
                                      std::string_view host_authorities) {
  const std::string all = fmt::format("{}\n{}", authority, host_authorities);
  SandboxTrust trust;
  trust.files.push_back({"authority.pem", std::string(authority)});
  trust.files.push_back({"authorities.pem", all});
  trust.files.push_back({"authorities.p12", TRY(java_store(all))});
  // OpenSSL, Go, Ruby and uv; Python's requests and pip; curl; git; cargo; AWS; gRPC; npm; Deno;
  // Nix.
  static constexpr std::array kWholeList = {
      "SSL_CERT_FILE",    "REQUESTS_CA_BUNDLE", "PIP_CERT",
      "CURL_CA_BUNDLE",   "GIT_SSL_CAINFO",     "CARGO_HTTP_CAINFO",
      "AWS_CA_BUNDLE",    "NPM_CONFIG_CAFILE",  "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
      "NIX_SSL_CERT_FILE"};
  for (const char* name : kWholeList)
    trust.environment.push_back(fmt::format("{}={}/authorities.pem", name, directory));
  // wget and apt have no variable for the list itself, but for a file of settings.
  trust.files.push_back(
      {"wgetrc", fmt::format("ca_certificate = {}/authorities.pem\n", directory)});
  trust.environment.push_back(fmt::format("WGETRC={}/wgetrc", directory));
  trust.files.push_back(
      {"apt.conf", fmt::format("Acquire::https::CaInfo \"{}/authorities.pem\";\n", directory)});
  trust.environment.push_back(fmt::format("APT_CONFIG={}/apt.conf", directory));
  // These two programs add the certificates to their own.
  for (const char* name : {"NODE_EXTRA_CA_CERTS", "DENO_CERT"})
    trust.environment.push_back(fmt::format("{}={}/authority.pem", name, directory));
  trust.environment.push_back(
      fmt::format("JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore={}/authorities.p12 "
                  "-Djavax.net.ssl.trustStoreType=PKCS12 "
                  "-Djavax.net.ssl.trustStorePassword={}",
                  directory, kPassword));
  return trust;
}

}  // namespace nutshell::egress
