import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type Rolldown } from 'vite';
import { docsEntry, documentation } from './docs/plugin.ts';

const table = join(import.meta.dirname, '../server/contract/endpoints/index.ts');

/** A browser needs to know where each endpoint is, not what travels: the shapes stay out of the bundle. */
const addressesOnly: Plugin = {
  name: 'addresses-only',
  enforce: 'pre',
  async load(id) {
    if (id !== table) return null;
    const { endpoints } = (await import(table)) as {
      endpoints: readonly {
        readonly id: string;
        readonly method: string;
        readonly path: string;
        readonly envelope?: string;
      }[];
    };
    const rows = endpoints.map(({ id: name, method, path, envelope }) => [name, { method, path, envelope }]);
    return `const rows = ${JSON.stringify(Object.fromEntries(rows))};\nexport const endpointById = (id) => rows[id];`;
  },
};

const root = join(import.meta.dirname, '..');

/** The bundler's own helpers carry the name of their package; style sheets name theirs in an import. */
function fileOf(id: string): string {
  const helper = /^\0(\w+)\//.exec(id)?.[1];
  return helper === undefined ? relative(root, id.split('?')[0] ?? '') : `node_modules/${helper}/package.json`;
}

/** Reports to the build which modules are in the bundle, for the list of licences. */
const moduleList: Plugin = {
  name: 'module-list',
  writeBundle(_options, bundle) {
    const place = process.env.GATEWAY_CONSOLE_MODULES;
    if (place === undefined) return;
    const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? Object.keys(file.modules) : []));
    const sheets = modules
      .filter((id) => id.endsWith('.css') && !id.includes('node_modules'))
      .flatMap((id) => [...readFileSync(id, 'utf8').matchAll(/@import\s+["']((?:@[^"'/]+\/)?[^"'./][^"'/]*)/g)])
      .map(([, name]) => `node_modules/${name}/package.json`);
    writeFileSync(place, JSON.stringify([...new Set([...modules.map(fileOf), ...sheets])].sort()));
  },
};

/** Modules that static imports reach: from the first script, the application, and the pages shown before the login. */
const reached = { boot: new Set<string>(), application: new Set<string>(), guest: new Set<string>() };
const guestPages = ['account/login-page', 'account/register-page', 'api-docs/api-docs-page', 'site/about-page'];
const findReached: Plugin = {
  name: 'find-reached',
  buildEnd() {
    const follow = (id: string, found: Set<string>): void => {
      if (found.has(id)) return;
      found.add(id);
      for (const next of this.getModuleInfo(id)?.importedIds ?? []) follow(next, found);
    };
    follow(join(import.meta.dirname, 'app/boot.ts'), reached.boot);
    follow(join(import.meta.dirname, 'app/main.tsx'), reached.application);
    for (const page of guestPages) follow(join(import.meta.dirname, `features/${page}.tsx`), reached.guest);
  },
};
const isDependency = (id: string): boolean => id.includes('node_modules');
/** Large packages that are loaded when they are needed. */
const isLate = (id: string): boolean => /node_modules.(uplot|highlight|marked|react-day-picker|zod)/.test(id);
/** Each request costs the browser about a millisecond: what pages share comes in few files, and pages before the login need little of it. */
const files: Rolldown.CodeSplittingGroup[] = [
  { name: 'boot', test: (id) => reached.boot.has(id), priority: 4 },
  { name: 'application', test: (id) => reached.application.has(id), priority: 3 },
  { name: 'guest', test: (id) => reached.guest.has(id) && !isDependency(id), minShareCount: 2, priority: 2 },
  { name: 'parts', test: (id) => !isLate(id), minShareCount: 4, priority: 1 },
];

/** Whose API the console asks while it is developed. */
const gateway = `http://127.0.0.1:${process.env.GATEWAY_PORT ?? '3000'}`;

export default defineConfig({
  root: import.meta.dirname,
  plugins: [addressesOnly, react(), tailwindcss(), moduleList, documentation, findReached],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: { codeSplitting: { groups: files } },
      input: { index: join(import.meta.dirname, 'index.html'), docs: docsEntry },
    },
  },
  // Pages name files from the root, where a server under a path puts that path before them; files name each other from beside themselves.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }) },
  server: { proxy: { '/api': gateway, '/v1': gateway } },
});
