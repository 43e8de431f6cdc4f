#include "coordinator/rpc/doors/client_hello.h"

#include <gtest/gtest.h>

#include <string>

namespace hpc::coordinator {
namespace {

std::string U8(size_t n) { return std::string(1, static_cast<char>(n)); }
std::string U16(size_t n) { return U8(n >> 8) + U8(n & 0xff); }
std::string U24(size_t n) { return U8(n >> 16) + U16(n & 0xffff); }

std::string Extension(size_t type, const std::string& data) {
  return U16(type) + U16(data.size()) + data;
}

std::string Hello(const std::string& extensions) {
  const std::string body = U16(0x0303) + std::string(32, 'r') + U8(2) + "id" + U16(2) +
                           U16(0x1301) + U8(1) + U8(0) + U16(extensions.size()) + extensions;
  const std::string message = U8(1) + U24(body.size()) + body;
  return U8(0x16) + U16(0x0301) + U16(message.size()) + message;
}

const std::string kServerName = Extension(0, "coordinator.hpc");
const std::string kVersions = Extension(0x2b, U8(4) + U16(0x0304) + U16(0x0303));
const std::string kOldVersions = Extension(0x2b, U8(2) + U16(0x0303));

TEST(ClientHelloTest, ThatOffersTls13IsToldByItsSupportedVersions) {
  EXPECT_EQ(ClassifyOpening(Hello(kServerName + kVersions)), Opening::kTls13);
}

TEST(ClientHelloTest, OfAnOlderTlsIsTold) {
  EXPECT_EQ(ClassifyOpening(Hello(kServerName)), Opening::kOldTls);
  EXPECT_EQ(ClassifyOpening(Hello(kOldVersions)), Opening::kOldTls);
  EXPECT_EQ(ClassifyOpening(Hello("")), Opening::kOldTls);
}

TEST(ClientHelloTest, IsIncompleteUntilItsLastByte) {
  const std::string hello = Hello(kVersions);
  for (size_t size = 0; size < hello.size(); ++size) {
    EXPECT_EQ(ClassifyOpening(hello.substr(0, size)), Opening::kIncomplete) << size;
  }
  EXPECT_EQ(ClassifyOpening(hello + "more"), Opening::kTls13);
}

TEST(ClientHelloTest, IsNoneOfPlainText) {
  for (const char* text : {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\n", "SSH-2.0-x",
                           "\x16\x02", "\x15\x03\x03\x00\x02\x02\x46"}) {
    EXPECT_EQ(ClassifyOpening(text), Opening::kNotTls) << text;
  }
  EXPECT_EQ(ClassifyOpening(U8(0x16) + U16(0x0301) + U16(0xffff)), Opening::kNotTls);
}

TEST(ClientHelloTest, WithLengthsThatLieIsNotReadBeyondItsEnd) {
  std::string hello = Hello(kVersions);
  for (size_t i = 5; i < hello.size(); ++i) {
    for (const char lie : {'\x00', '\x7f', '\xff'}) {
      std::string lying = hello;
      lying[i] = lie;
      ClassifyOpening(lying);  // the sanitizers judge
    }
  }
}

}  // namespace
}  // namespace hpc::coordinator
