import { join } from 'node:path';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

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

export default defineConfig({
  root: import.meta.dirname,
  plugins: [addressesOnly, react(), tailwindcss()],
  build: { outDir: 'dist', emptyOutDir: true, assetsInlineLimit: 0, modulePreload: { polyfill: false } },
  server: { proxy: { '/api': 'http://127.0.0.1:3000', '/v1': 'http://127.0.0.1:3000' } },
});
