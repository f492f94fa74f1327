/** The platforms that a release has an executable for: which runtime each gets, and where its SQLite addon comes from. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildAddon } from './addon.ts';
import { npmPackage } from './fetch.ts';

interface TargetRow {
  readonly platform: 'linux' | 'darwin' | 'win32';
  readonly arch: 'x64' | 'arm64';
  readonly libc?: 'glibc' | 'musl';
  /** The compiler's name for where the addon runs; undefined = the package's own addon runs on all of the platform. */
  readonly zigTarget?: string;
  readonly bun: Bun.Build.CompileTarget;
  readonly runtime: string;
  /** SHA-512 of the runtime's package. */
  readonly integrity: string;
}

// The package's own addon for Linux needs glibc 2.34 and libstdc++; the runtime needs glibc 2.17 alone.
const glibc = 'gnu.2.17';

export const targets = {
  'linux-x64': {
    platform: 'linux',
    arch: 'x64',
    libc: 'glibc',
    zigTarget: `x86_64-linux-${glibc}`,
    bun: 'bun-linux-x64',
    runtime: '@oven/bun-linux-x64',
    integrity: 'sha512-IWX9BELoGHAUtMonkeSaNaZwXzRk+oDw6Mk+HBFXd3KHYIBNBsIGRupMZPcgNoDbJpLu6gAJjIoIVPZtt1aJ1g==',
  },
  'linux-x64-baseline': {
    platform: 'linux',
    arch: 'x64',
    libc: 'glibc',
    zigTarget: `x86_64-linux-${glibc}`,
    bun: 'bun-linux-x64-baseline',
    runtime: '@oven/bun-linux-x64-baseline',
    integrity: 'sha512-s8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==',
  },
  'linux-arm64': {
    platform: 'linux',
    arch: 'arm64',
    libc: 'glibc',
    zigTarget: `aarch64-linux-${glibc}`,
    bun: 'bun-linux-arm64',
    runtime: '@oven/bun-linux-aarch64',
    integrity: 'sha512-4BXmsSKnjOrlGWqZV4x/oWa7AVoR+B6lCXddMzOAXBIm3t50eslg9wb66gmtW1AamEQ1l1CDvmmruysEhqOWMg==',
  },
  'linux-x64-musl': {
    platform: 'linux',
    arch: 'x64',
    libc: 'musl',
    zigTarget: 'x86_64-linux-musl',
    bun: 'bun-linux-x64-musl',
    runtime: '@oven/bun-linux-x64-musl',
    integrity: 'sha512-10QoW/YfTgnURaGEaHpJCiXjLI2e5iTtfVDaA5JKcyUzaa1cq6cVUY9/Uq5XkYzvtRjHLRe9Oj/lTDIQcxy8HQ==',
  },
  'linux-arm64-musl': {
    platform: 'linux',
    arch: 'arm64',
    libc: 'musl',
    zigTarget: 'aarch64-linux-musl',
    bun: 'bun-linux-arm64-musl',
    runtime: '@oven/bun-linux-aarch64-musl',
    integrity: 'sha512-XCNc+WvvMAdNNb+OWTogpy+N9wm62fkVeEVLb6how0RZhW5LPi6c7BlkeVCuWps7XjEl2saFpHFa20/1E+PAHg==',
  },
  'darwin-arm64': {
    platform: 'darwin',
    arch: 'arm64',
    bun: 'bun-darwin-arm64',
    runtime: '@oven/bun-darwin-aarch64',
    integrity: 'sha512-4MIFXHmctH2EhAxLXm2/qxNtv17dFtLJylvaOCsrgq6KSqHTs6eW5YSrJjRbJxYUJaR901fsN8JfZOa+CsWpWQ==',
  },
  'darwin-x64': {
    platform: 'darwin',
    arch: 'x64',
    bun: 'bun-darwin-x64',
    runtime: '@oven/bun-darwin-x64',
    integrity: 'sha512-qkLPMGHZM9NI6CeHTWwVezzmlo6cC4Ta7yUAjYIWXS366qQcOlcp75t2uZyiuVRBMPS0h9qE0tCcvCHGaFqjJg==',
  },
  'windows-x64': {
    platform: 'win32',
    arch: 'x64',
    bun: 'bun-windows-x64',
    runtime: '@oven/bun-windows-x64',
    integrity: 'sha512-FNvply651vcE/GHgNWz6mZvhmkwBuu8Hw54oNzA+CQog+HW+542rXQmZqNHRkFxazD9L3xi+iTtvO3engAgJfw==',
  },
} satisfies Readonly<Record<string, TargetRow>>;

export type TargetName = keyof typeof targets;
export const targetNames = Object.keys(targets) as TargetName[];

/** @throws Error that lists what there is. */
export function targetsNamed(list: string): readonly TargetName[] {
  if (list === 'all') return targetNames;
  const names = list.split(',');
  const unknown = names.find((name) => !Object.hasOwn(targets, name));
  if (unknown !== undefined) throw new Error(`--target ${unknown}: all, ${targetNames.join(', ')}`);
  return names as TargetName[];
}

export const programName = (target: TargetName): string =>
  `gateway-${target}${targets[target].platform === 'win32' ? '.exe' : ''}`;

/** What an executable for another machine is put together from. */
export interface TargetParts {
  readonly bun: Bun.Build.CompileTarget;
  readonly runtime: string;
  readonly addon: string;
}

/** @param root of the repository. @throws Error when something cannot be fetched or is not what was pinned. */
export async function targetParts(root: string, name: TargetName): Promise<TargetParts> {
  const row: TargetRow = targets[name];
  const { packageManager } = (await Bun.file(join(root, 'package.json')).json()) as { packageManager: string };
  const version = packageManager.split('@')[1] ?? '';
  const folder = npmPackage(root, { name: row.runtime, version, integrity: row.integrity });
  const runtime = join(folder, 'bin', row.platform === 'win32' ? 'bun.exe' : 'bun');
  const own = join(root, 'node_modules/better-sqlite3/prebuilds', `${row.platform}-${row.arch}.node`);
  const addon = row.zigTarget === undefined ? own : buildAddon(root, row.zigTarget);
  if (row.libc === 'glibc') needsOnlyOldGlibc(readFileSync(addon, 'latin1'));
  return { bun: row.bun, runtime, addon };
}

const oldestMinor = 17;

/** @param addon its bytes as text: a program names the versions of what it needs. @throws Error when it needs a glibc newer than 2.17, or a C++ library. */
export function needsOnlyOldGlibc(addon: string): void {
  const minors = [...addon.matchAll(/GLIBC_2\.(\d+)/g)].map(([, minor]) => Number(minor));
  if (minors.length === 0) throw new Error('the addon names no version of glibc');
  if (Math.max(...minors) > oldestMinor) throw new Error(`the addon needs glibc 2.${Math.max(...minors)}`);
  if (addon.includes('libstdc++.so')) throw new Error('the addon needs libstdc++');
}
