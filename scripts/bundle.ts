/** What goes into the executable: its entries, and how they are bundled. */
import { join } from 'node:path';
import type { BuildConfig, BunPlugin } from 'bun';

/** react-devtools-core is only wanted by Ink's development mode and cannot be bundled. */
const withoutDevtools: BunPlugin = {
  name: 'without-devtools',
  setup(build) {
    build.onResolve({ filter: /^react-devtools-core$/ }, (found) => ({ path: found.path, namespace: 'stub' }));
    build.onLoad({ filter: /.*/, namespace: 'stub' }, () => ({
      contents: 'export default { connectToDevTools() {}, initialize() {} }',
      loader: 'js',
    }));
  },
};

/** The parser of bodies brings tables of every character set; the runtime has its own. */
const withoutCharsets: BunPlugin = {
  name: 'without-charsets',
  setup(build) {
    build.onLoad({ filter: /node_modules[\\/]iconv-lite[\\/]lib[\\/]index\.js$/ }, () => ({
      contents: `const decoder = (name) => new TextDecoder(name);
export const encodingExists = (name) => { try { return decoder(name) !== null; } catch { return false; } };
export const decode = (bytes, name) => decoder(name).decode(bytes);
export function getDecoder(name) {
  const open = decoder(name);
  return { write: (bytes) => open.decode(bytes, { stream: true }), end: () => open.decode() };
}`,
      loader: 'js',
    }));
  },
};

/** Of the list of media types, those that a file name can have: all that express looks up. */
const withFewerTypes: BunPlugin = {
  name: 'with-fewer-types',
  setup(build) {
    build.onLoad({ filter: /node_modules[\\/]mime-db[\\/]db\.json$/ }, async ({ path }) => {
      const all = Object.entries((await Bun.file(path).json()) as Readonly<Record<string, MediaType>>);
      const named = all
        .filter(([, { extensions }]) => extensions !== undefined)
        .map(([type, { source, charset, extensions }]) => [type, { source, charset, extensions }]);
      return { contents: JSON.stringify(Object.fromEntries(named)), loader: 'json' };
    });
  },
};

interface MediaType {
  readonly source?: string;
  readonly charset?: string;
  readonly extensions?: readonly string[];
}

/** Each of undici's two parsers comes twice, with vector instructions and without; those without run on every machine, and what goes through proxies waits for the network. */
const withoutSecondParsers: BunPlugin = {
  name: 'without-second-parsers',
  setup(build) {
    const kept: Readonly<Record<string, string>> = {
      'simd.js': './no-simd.js',
      'llhttp_simd-wasm.js': './llhttp-wasm.js',
    };
    build.onLoad({ filter: /undici[\\/]lib[\\/](milo[\\/]simd|llhttp[\\/]llhttp_simd-wasm)\.js$/ }, ({ path }) => ({
      contents: `module.exports = require('${kept[path.replace(/^.*[\\/]/, '')]}');`,
      loader: 'js',
    }));
  },
};

/** These modules ask for the folder they lie in, and a bundler writes down where it ran: one commit would give other bytes in another folder. The executable never looks there. */
const withoutFolders: BunPlugin = {
  name: 'without-folders',
  setup(build) {
    const filter = /node_modules[\\/](better-sqlite3[\\/]lib[\\/]binding|undici[\\/]index)\.js$/;
    build.onLoad({ filter }, async ({ path }) => ({
      contents: (await Bun.file(path).text()).replaceAll(/\b__(dir|file)name\b/g, '"."'),
      loader: 'js',
    }));
  },
};

export const counterEntry = 'server/relay/admission/counting/worker.ts';
const entries = [
  'cli/main.ts',
  'server/threads/ledger/worker.ts',
  'server/threads/database-check/worker.ts',
  'server/cluster/worker.ts',
  'server/domain/backup/worker.ts',
  'server/threads/control/worker.ts',
  'server/threads/relay/worker.ts',
  'server/threads/reader/worker.ts',
];

/** @param define more constants. @param plugins what stands in for the placeholders below `server/embedded`. */
export const bundleOf = (
  root: string,
  define: Readonly<Record<string, string>> = {},
  plugins: readonly BunPlugin[] = [],
) =>
  ({
    entrypoints: entries.map((file) => join(root, file)),
    root,
    target: 'bun',
    // The threads and the command line share most of their modules.
    splitting: true,
    format: 'esm',
    define: { 'process.env.NODE_ENV': '"production"', GATEWAY_COMPILED: 'true', ...define },
    plugins: [withoutDevtools, withoutCharsets, withFewerTypes, withoutSecondParsers, withoutFolders, ...plugins],
  }) satisfies BuildConfig;
