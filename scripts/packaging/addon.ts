/** Compiles the SQLite addon for Linux, so that it needs no newer system than the runtime: an old glibc or musl, and no C++ library beside it. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { npmPackage, packagingCache, pythonTools, runTool } from './fetch.ts';

const headers = {
  name: 'node-api-headers',
  version: '1.9.0',
  integrity: 'sha512-2oNILP4jXwRB4ywnYKjVk1YyJ96n2D4EOVJO6S3oYZ5PtbJrw3Yt9TpAuX3nBLMuzn74rnfGQrv13pS9vC+YiA==',
} as const;

/** As in the package's own build. */
const addonFlags = [
  '-std=c++20',
  '-fvisibility=hidden',
  '-fvisibility-inlines-hidden',
  '-DNAPI_VERSION=10',
  '-DNAPI_DISABLE_CPP_EXCEPTIONS',
  '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
];

/** The package lists its SQLite options for another build system. @throws Error when it no longer does. */
function sqliteOptions(driver: string): string[] {
  const listed = readFileSync(join(driver, 'deps/defines.gypi'), 'utf8').matchAll(/'([A-Z][A-Z0-9_]+(?:=-?\d+)?)'/g);
  const flags = [...listed].map(([, name]) => `-D${name}`);
  if (!flags.includes('-DSQLITE_THREADSAFE=2'))
    throw new Error('better-sqlite3 lists its SQLite options elsewhere now');
  return flags;
}

/** @param triple where it runs, in the compiler's words. @returns the addon. */
export function buildAddon(root: string, triple: string): string {
  const driver = join(root, 'node_modules/better-sqlite3');
  const { version } = JSON.parse(readFileSync(join(driver, 'package.json'), 'utf8')) as { version: string };
  const inputs = [version, readFileSync(import.meta.path), readFileSync(join(import.meta.dirname, 'tools.txt'))];
  const hash = createHash('sha256');
  for (const input of inputs) hash.update(input);
  const folder = join(packagingCache(root), 'addons', triple);
  const addon = join(folder, `${hash.digest('hex').slice(0, 16)}.node`);
  if (existsSync(addon)) return addon;
  console.error(`compiling the SQLite addon for ${triple} ...`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const zig = join(pythonTools(root), 'ziglang', 'zig');
  const cache = join(packagingCache(root), 'zig');
  const env = { ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache };
  // Messages of failed assertions name their file: never the folder that the release was built in.
  const common = ['-target', triple, '-O3', '-fPIC', '-w', '-DNDEBUG', `-ffile-prefix-map=${root}=.`];
  const compile = (program: 'cc' | 'c++', source: string, flags: readonly string[]): string => {
    const object = join(folder, `${program}.o`);
    runTool([zig, program, ...common, ...flags, ...sqliteOptions(driver), '-c', source, '-o', object], { env });
    return object;
  };
  const includes = [
    join(driver, 'deps/sqlite3'),
    join(root, 'node_modules/node-addon-api'),
    join(npmPackage(root, headers), 'include'),
  ].map((path) => `-I${path}`);
  const objects = [
    compile('cc', join(driver, 'deps/sqlite3/sqlite3.c'), ['-std=c99']),
    compile('c++', join(driver, 'src/better_sqlite3.cpp'), [...addonFlags, ...includes]),
  ];
  const draft = join(folder, 'draft.node');
  runTool([zig, 'c++', '-target', triple, '-shared', '-s', '-Wl,-Bsymbolic', '-o', draft, ...objects], { env });
  for (const object of objects) rmSync(object);
  renameSync(draft, addon);
  return addon;
}
