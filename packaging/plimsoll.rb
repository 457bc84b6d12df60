# A Homebrew formula, for Linux. A release sets `url` and `sha256` (docs/releasing.md).
class Plimsoll < Formula
  desc "Measures how much load a machine carries within an SLO, and uses the rest"
  homepage "https://plimsoll.invalid"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://plimsoll.invalid/plimsoll.git", branch: "main"

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/plimsoll")
    generate_completions_from_executable(bin/"plimsoll", "completions")
    system bin/"plimsoll", "man", "--dir", buildpath
    man1.install Dir["*.1"]
  end

  test do
    assert_match "how much load a machine can really carry", shell_output("#{bin}/plimsoll --help")
  end
end
