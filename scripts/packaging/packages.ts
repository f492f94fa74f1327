/** Packs an executable for those who install it: archives, .deb and .rpm, npm packages, and what Homebrew and Scoop read. */
import { chmodSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { completionScripts } from '../../cli/commands/help/scripts.ts';
import { systemd } from '../../cli/commands/site/service.ts';
import type { Documents } from '../licences/documents.ts';
import { pythonTools, runTool } from './fetch.ts';
import { manPages } from './man.ts';
import { programName, type TargetName, targetNames, targets } from './targets.ts';

export interface Release {
  readonly root: string;
  readonly version: string;
  /** Where the finished files go. */
  readonly out: string;
  /** Epoch seconds of the commit: every file has this time. */
  readonly time: number;
  readonly documents: Documents;
}

const scope = '@gateway-relay';
const about = 'AI gateway: relay, billing, web console and terminal in one executable';

const completionFiles: Readonly<Record<string, string>> = {
  bash: 'gateway.bash',
  zsh: '_gateway',
  fish: 'gateway.fish',
  powershell: 'gateway.ps1',
};

function put(release: Release, file: string, content: string | Uint8Array, mode = 0o644): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  utimesSync(file, release.time, release.time);
}

const program = (root: string, target: TargetName): string => join(root, 'dist', programName(target));
const isWindows = (target: TargetName): boolean => targets[target].platform === 'win32';
const bare = (target: TargetName): string => (isWindows(target) ? 'gateway.exe' : 'gateway');

/** What every package has beside the executable. */
function extraFiles(release: Release, folder: string): void {
  put(release, join(folder, 'LICENSE'), readFileSync(join(release.root, 'LICENSE')));
  put(release, join(folder, 'README.md'), readFileSync(join(release.root, 'README.md')));
  put(release, join(folder, 'README.zh.md'), readFileSync(join(release.root, 'README.zh.md')));
  put(release, join(folder, 'licences.txt'), release.documents.licences);
  put(release, join(folder, 'gateway.cdx.json'), release.documents.sbom);
  for (const [shell, name] of Object.entries(completionFiles))
    put(release, join(folder, 'completions', name), completionScripts[shell] ?? '');
  for (const { path, text } of manPages(release.version)) put(release, join(folder, 'man', path), text);
}

const tarOptions = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', '--format=gnu'];

/** The same files give the same bytes. */
function tarball(release: Release, folder: string, name: string, file: string): void {
  const options = [...tarOptions, `--mtime=@${release.time}`, '--use-compress-program=gzip -9 -n'];
  runTool(['tar', ...options, '-C', folder, '-cf', file, name]);
}

/** @returns the archive: .zip for Windows, .tar.gz else. */
export function archive(release: Release, target: TargetName): string {
  const name = `gateway-${release.version}-${target}`;
  const folder = join(release.root, '.cache', 'packaging', 'archive');
  rmSync(folder, { recursive: true, force: true });
  extraFiles(release, join(folder, name));
  put(release, join(folder, name, bare(target)), readFileSync(program(release.root, target)), 0o755);
  const file = join(release.out, `${name}.${isWindows(target) ? 'zip' : 'tar.gz'}`);
  rmSync(file, { force: true });
  // Zip has local times without a zone.
  if (isWindows(target)) {
    const paths = [...new Bun.Glob('**/*').scanSync({ cwd: folder })].sort();
    runTool(['python3', '-m', 'zipfile', '-c', file, ...paths], { cwd: folder, env: { TZ: 'UTC' } });
  } else tarball(release, folder, name, file);
  return file;
}

const debianArch = { x64: 'amd64', arm64: 'arm64' } as const;

/** The unit that the executable prints, for the package's own user. */
const unit = (): string =>
  systemd({
    ...{ program: '/usr/bin/gateway', dataDir: '/var/lib/gateway', isSet: false, user: 'gateway' },
    ...{ port: '3000', say: (_zh, en) => en },
  }).file;

/** @returns a .deb and an .rpm. */
export function linuxPackages(release: Release, target: 'linux-x64' | 'linux-arm64'): string[] {
  const folder = join(release.root, '.cache', 'packaging', 'linux');
  rmSync(folder, { recursive: true, force: true });
  extraFiles(release, folder);
  put(release, join(folder, 'gateway.service'), unit());
  const own = (name: string): string => join(import.meta.dirname, 'linux', name);
  const file = (src: string, dst: string, mode = 0o644, type?: string) => ({
    ...{ src, dst, ...(type === undefined ? {} : { type }) },
    file_info: { mode, mtime: new Date(release.time * 1000).toISOString() },
  });
  const doc = '/usr/share/doc/gateway';
  const description = {
    ...{ name: 'gateway', arch: debianArch[targets[target].arch], platform: 'linux', version: release.version },
    ...{ section: 'net', priority: 'optional', maintainer: 'gateway maintainers', description: about, license: 'MIT' },
    mtime: new Date(release.time * 1000).toISOString(),
    contents: [
      file(program(release.root, target), '/usr/bin/gateway', 0o755),
      file(join(folder, 'gateway.service'), '/usr/lib/systemd/system/gateway.service'),
      file(own('gateway.env'), '/etc/gateway/gateway.env', 0o640, 'config|noreplace'),
      file(join(folder, 'completions/gateway.bash'), '/usr/share/bash-completion/completions/gateway'),
      file(join(folder, 'completions/_gateway'), '/usr/share/zsh/site-functions/_gateway'),
      file(join(folder, 'completions/gateway.fish'), '/usr/share/fish/vendor_completions.d/gateway.fish'),
      ...['README.md', 'README.zh.md', 'licences.txt', 'gateway.cdx.json'].map((name) =>
        file(join(folder, name), `${doc}/${name}`),
      ),
      file(join(folder, 'LICENSE'), `${doc}/copyright`),
      ...manPages(release.version).map(({ path }) => file(join(folder, 'man', path), `/usr/share/man/${path}`)),
    ],
    scripts: {
      postinstall: own('postinstall.sh'),
      preremove: own('preremove.sh'),
      postremove: own('postremove.sh'),
    },
    rpm: { compression: 'gzip', buildhost: 'release' },
    deb: { compression: 'gzip' },
    overrides: { deb: { depends: ['libc6 (>= 2.17)', 'passwd'] }, rpm: { depends: ['glibc >= 2.17', 'shadow-utils'] } },
  };
  const config = join(folder, 'nfpm.json');
  // YAML reads JSON.
  writeFileSync(config, JSON.stringify(description, null, 1));
  const nfpm = join(pythonTools(release.root), 'bin', 'nfpm');
  return ['deb', 'rpm'].map((packager) => {
    const packed = join(release.out, `gateway-${release.version}-${target}.${packager}`);
    runTool([nfpm, 'package', '--config', config, '--packager', packager, '--target', packed], {
      env: { SOURCE_DATE_EPOCH: String(release.time) },
    });
    return packed;
  });
}

const npmTargets = targetNames.filter((target) => target !== 'linux-x64-baseline');
const npmName = (target: TargetName): string => `${scope}/gateway-${target}`;

function npmPack(release: Release, folder: string, manifest: object, name: string): string {
  put(release, join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  put(release, join(folder, 'LICENSE'), readFileSync(join(release.root, 'LICENSE')));
  const packed = join(release.out, name);
  tarball(release, dirname(folder), 'package', packed);
  return packed;
}

/** One platform's executable; without an install script. */
export function npmPlatform(release: Release, target: TargetName): string[] {
  if (!npmTargets.some((name) => name === target)) return [];
  const folder = join(release.root, '.cache', 'packaging', 'npm', 'package');
  rmSync(folder, { recursive: true, force: true });
  put(release, join(folder, bare(target)), readFileSync(program(release.root, target)), 0o755);
  put(release, join(folder, 'licences.txt'), release.documents.licences);
  const { platform, arch } = targets[target];
  const libc = target.endsWith('-musl') ? 'musl' : 'glibc';
  const manifest = {
    ...{ name: npmName(target), version: release.version, description: `${about} (${target})`, license: 'MIT' },
    ...{ os: [platform], cpu: [arch], ...(platform === 'linux' ? { libc: [libc] } : {}) },
    preferUnplugged: true,
  };
  return [npmPack(release, folder, manifest, `gateway-npm-${target}-${release.version}.tgz`)];
}

/** What people name; it brings the platform's executable as an optional dependency. */
export function npmThin(release: Release): string {
  const folder = join(release.root, '.cache', 'packaging', 'npm', 'package');
  rmSync(folder, { recursive: true, force: true });
  const start = readFileSync(join(import.meta.dirname, 'npm-start.mjs'), 'utf8');
  const text = start.replace('SCOPE', scope).replace('TARGETS', npmTargets.join(', '));
  put(release, join(folder, 'gateway.mjs'), text, 0o755);
  put(release, join(folder, 'README.md'), readFileSync(join(release.root, 'README.md')));
  const manifest = {
    ...{ name: `${scope}/gateway`, version: release.version, description: about, license: 'MIT', type: 'module' },
    ...{ bin: { gateway: 'gateway.mjs' }, engines: { node: '>=18' } },
    optionalDependencies: Object.fromEntries(npmTargets.map((target) => [npmName(target), release.version])),
  };
  return npmPack(release, folder, manifest, `gateway-npm-${release.version}.tgz`);
}

/** @param url where the release's files are. @param hashOf SHA-256 of an archive. */
export function homebrew(version: string, url: string, hashOf: (target: TargetName) => string): string {
  const one = (target: TargetName): string =>
    `      url "${url}/gateway-${version}-${target}.tar.gz"\n      sha256 "${hashOf(target)}"`;
  const both = (name: string, arm: TargetName, intel: TargetName): string =>
    `  on_${name} do\n    on_arm do\n${one(arm)}\n    end\n    on_intel do\n${one(intel)}\n    end\n  end`;
  return `class Gateway < Formula
  desc "${about}"
  homepage "${url}"
  version "${version}"
  license "MIT"

${both('macos', 'darwin-arm64', 'darwin-x64')}
${both('linux', 'linux-arm64', 'linux-x64')}

  def install
    bin.install "gateway"
    bash_completion.install "completions/gateway.bash" => "gateway"
    zsh_completion.install "completions/_gateway"
    fish_completion.install "completions/gateway.fish"
    man1.install Dir["man/man1/*.1"]
  end

  service do
    run [opt_bin/"gateway", "serve", "--data-dir", var/"gateway"]
    keep_alive true
    log_path var/"log/gateway.log"
    error_log_path var/"log/gateway.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gateway --version")
  end
end
`;
}

export const scoop = (version: string, url: string, hash: string): string =>
  `${JSON.stringify(
    {
      ...{ version, description: about, homepage: url, license: 'MIT' },
      architecture: { '64bit': { url: `${url}/gateway-${version}-windows-x64.zip`, hash } },
      ...{ extract_dir: `gateway-${version}-windows-x64`, bin: 'gateway.exe' },
    },
    null,
    2,
  )}\n`;
