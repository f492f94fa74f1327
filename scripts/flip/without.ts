/** Preloaded: the gateway knows all rows but one, which is named in GATEWAY_FLIP as `models 3` or `providers 7`. Doubles find all of them under `all`. */
import { readFileSync } from 'node:fs';
import { plugin } from 'bun';

const [table = '', at = ''] = (process.env.GATEWAY_FLIP ?? '').split(' ');
const names = { models: 'modelRows', providers: 'providerRows' } as const;

plugin({
  name: 'rows without one',
  setup(build) {
    build.onLoad({ filter: /server\/providers\/knowledge\/(?:models|providers)\.ts$/ }, ({ path }) => {
      const file = path.endsWith('models.ts') ? 'models' : 'providers';
      const name = names[file];
      const text = readFileSync(path, 'utf8').replace(`export const ${name}:`, 'export const all:');
      const without = file === table ? `all.filter((_, at) => at !== ${Number(at)})` : 'all';
      return { contents: `${text}\nexport const ${name} = ${without};\n`, loader: 'ts' };
    });
  },
});
