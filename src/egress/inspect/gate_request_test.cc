#include "egress/inspect/gate_request.h"

#include <gtest/gtest.h>

namespace nutshell::egress {
namespace {

struct Read {
  int status = 0;  // zero: not refused
  std::string why;
  GateRequest request;
};

Read read(const std::string& head, const GateScheme& scheme = {"http", 80}) {
  Read read;
  http::RequestParser parser;
  if (auto refusal = read_request(head, scheme, parser, read.request)) {
    read.status = refusal->status;
    read.why = refusal->why;
  }
  return read;
}

TEST(GateRequest, IsWrittenAnew) {
  const auto got = read(
      "GET /a%2Fb?c=d&e HTTP/1.1\r\nhost: A.test.\r\nAccept: x\r\nConnection: keep-alive, X-Hop\r\n"
      "X-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: y\r\n"
      "Upgrade: h2c\r\nHTTP2-Settings: z\r\n\r\n");
  ASSERT_EQ(got.status, 0) << got.why;
  EXPECT_EQ(got.request.named.host, "a.test");
  EXPECT_EQ(got.request.named.path, "/a%2Fb");
  EXPECT_EQ(got.request.named.port, 80);
  EXPECT_EQ(write_request(got.request, std::nullopt),
            "GET /a%2Fb?c=d&e HTTP/1.1\r\nHost: A.test.\r\nAccept: x\r\n\r\n");
}

TEST(GateRequest, KeepsTheLengthOfItsBody) {
  const auto fixed = read("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\n");
  ASSERT_EQ(fixed.status, 0) << fixed.why;
  EXPECT_EQ(write_request(fixed.request, fixed.request.content_length),
            "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\n");
  const auto chunked =
      read("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: Chunked\r\n\r\n");
  ASSERT_EQ(chunked.status, 0) << chunked.why;
  EXPECT_EQ(write_request(chunked.request, chunked.request.content_length),
            "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n");
}

TEST(GateRequest, MayBeAUrlThatFitsItsHost) {
  const auto got = read("GET HTTP://a.test:80?q HTTP/1.1\r\nHost: A.TEST\r\n\r\n");
  ASSERT_EQ(got.status, 0) << got.why;
  EXPECT_EQ(got.request.target, "/?q");
  const auto whole = read("OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n");
  ASSERT_EQ(whole.status, 0) << whole.why;
  EXPECT_EQ(whole.request.target, "*");
}

TEST(GateRequest, AsksForAWebSocketOnlyAsAWhole) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a.test\r\nUpgrade: websocket\r\n";
  EXPECT_TRUE(read(head + "Connection: keep-alive, Upgrade\r\n\r\n").request.wants_websocket);
  EXPECT_FALSE(read(head + "\r\n").request.wants_websocket);
  EXPECT_FALSE(
      read(head + "Connection: Upgrade\r\nContent-Length: 3\r\n\r\n").request.wants_websocket);
}

TEST(GateRequest, RefusesHeadsThatTwoReadersUnderstandDifferently) {
  const std::string line = "POST / HTTP/1.1\r\n";
  const std::string host = "Host: a.test\r\n";
  for (const std::string& head : std::vector<std::string>{
           line + host + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
           line + host + "Content-Length: 3\r\nContent-Length: 3\r\n\r\n",
           line + host + "Content-Length: 3, 3\r\n\r\n",
           line + host + "Content-Length: +3\r\n\r\n",
           line + host + "Content-Length: 0x3\r\n\r\n",
           line + host + "Content-Length: 99999999999999999999999\r\n\r\n",
           line + host + "Transfer-Encoding: gzip, chunked\r\n\r\n",
           line + host + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
           line + host + "Transfer-Encoding : chunked\r\n\r\n",
           line + host +
               "Transfer-Encoding:\x0b"
               "chunked\r\n\r\n",
           line + host + " folded: x\r\n\r\n",
           line + host + "X: a\r\n\tb\r\n\r\n",
           line + host + "X: a\nY: b\r\n\r\n",
           line + host + "X: a\rY: b\r\n\r\n",
           line + host + std::string("X: a\0b\r\n\r\n", 10),
           line + host + host + "\r\n",
           line + host + "Host: b.test\r\n\r\n",
           line + "Host: a.test, b.test\r\n\r\n",
           line + "Host: user@a.test\r\n\r\n",
           line + "Host:\r\n\r\n",
           line + "\r\n",
           line + host + "no colon\r\n\r\n",
           line + host + ": empty\r\n\r\n",
           "POST / HTTP/1.0\r\n" + host + "Transfer-Encoding: chunked\r\n\r\n",
           "GET / HTTP/1.1\n" + host + "\r\n",
           "\r\nGET / HTTP/1.1\r\n" + host + "\r\n",
           "GET  / HTTP/1.1\r\n" + host + "\r\n",
           "GET / x HTTP/1.1\r\n" + host + "\r\n",
           "GET\t/ HTTP/1.1\r\n" + host + "\r\n",
           "GET / HTTP/1.1 \r\n" + host + "\r\n",
           "GET / http/1.1\r\n" + host + "\r\n",
           "GET / HTTP/2.0\r\n" + host + "\r\n",
           "GET /\r\n\r\n",
           "G(T / HTTP/1.1\r\n" + host + "\r\n",
       }) {
    EXPECT_NE(read(head).status, 0) << head;
  }
}

TEST(GateRequest, RefusesTargetsThatMeanAnotherPlace) {
  for (const std::string target : {"http://b.test/",
                                   "http://user@a.test/",
                                   "http://a.test:81/",
                                   "https://a.test/",
                                   "http:///x",
                                   "http:/x",
                                   "a.test:80",
                                   "//",
                                   "*",
                                   "/../x",
                                   "/a/..",
                                   "/%2e%2e/x",
                                   "/a/.%2E",
                                   "/a/..;x/b",
                                   "/a%2f..%2fb",
                                   "/a%5c..%5cb",
                                   "/a\\b",
                                   "/a#b",
                                   "/a%00",
                                   "/a%zz",
                                   "/\xc3\xbc",
                                   "a/b",
                                   "ftp://a.test/"}) {
    const auto got = read("GET " + target + " HTTP/1.1\r\nHost: a.test\r\n\r\n");
    if (target == "//") continue;  // two empty segments of this host
    EXPECT_NE(got.status, 0) << target;
  }
}

TEST(GateRequest, RefusesTunnelsAndEchoes) {
  EXPECT_EQ(read("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n").status, 405);
  EXPECT_EQ(read("TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n").status, 405);
  EXPECT_EQ(read("GET / HTTP/1.1\r\nHost: a.test\r\nExpect: tea\r\n\r\n").status, 417);
}

}  // namespace
}  // namespace nutshell::egress
