# nix-build -E 'with import <nixpkgs> {}; callPackage ./packaging/plimsoll.nix {}'
{ lib, rustPlatform, installShellFiles }:

rustPlatform.buildRustPackage {
  pname = "plimsoll";
  version = (lib.importTOML ../Cargo.toml).workspace.package.version;
  src = lib.cleanSource ../.;
  cargoLock.lockFile = ../Cargo.lock;
  cargoBuildFlags = [ "--package" "plimsoll" ];
  # They measure this machine, and need nginx, root and a network.
  doCheck = false;
  nativeBuildInputs = [ installShellFiles ];
  postInstall = ''
    mkdir man
    $out/bin/plimsoll man --dir man
    installManPage man/*.1
    for shell in bash fish zsh; do
      $out/bin/plimsoll completions $shell > plimsoll.$shell
    done
    installShellCompletion plimsoll.{bash,fish,zsh}
  '';
  meta = {
    description = "Measures how much load a machine carries within an SLO, and uses the rest";
    license = with lib.licenses; [ mit asl20 ];
    platforms = lib.platforms.linux;
    mainProgram = "plimsoll";
  };
}
