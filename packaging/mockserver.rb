# The Homebrew formula of a release: a copy is Formula/mockserver.rb of the tap @TAP@.
class Mockserver < Formula
  desc "HTTP mock server for load tests"
  homepage "https://github.com/@REPOSITORY@"
  version "@NUMBER@"
  license "MIT"

  on_macos do
    on_arm do
      url "@URL@/mockserver-@VERSION@-macos-arm64"
      sha256 "@macos-arm64@"
    end
    on_intel do
      url "@URL@/mockserver-@VERSION@-macos-amd64"
      sha256 "@macos-amd64@"
    end
  end

  on_linux do
    on_arm do
      url "@URL@/mockserver-@VERSION@-linux-arm64"
      sha256 "@linux-arm64@"
    end
    on_intel do
      url "@URL@/mockserver-@VERSION@-linux-amd64"
      sha256 "@linux-amd64@"
    end
  end

  def install
    bin.install Dir["mockserver-*"].first => "mockserver"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mockserver -v")
  end
end
