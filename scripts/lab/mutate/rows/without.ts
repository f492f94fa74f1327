/** Preloaded: the gateway knows all rows but those which are named in GATEWAY_FLIP as `models 3,providers 7`. Doubles find all of them under `all`. */
import { readFileSync } from 'node:fs';
import { plugin } from 'bun';

const disabled = (process.env.GATEWAY_FLIP ?? '').split(',').map((name) => name.split(' '));
const names = { models: 'modelRows', providers: 'providerRows' } as const;

plugin({
  name: 'rows without one',
  setup(build) {
    build.onLoad({ filter: /server\/providers\/knowledge\/(?:models|providers)\.ts$/ }, ({ path }) => {
      const file = path.endsWith('models.ts') ? 'models' : 'providers';
      const name = names[file];
      const text = readFileSync(path, 'utf8').replace(`export const ${name}:`, 'export const all:');
      const places = disabled.filter(([table]) => table === file).map(([, at]) => Number(at));
      const without = `all.filter((_, at) => !${JSON.stringify(places)}.includes(at))`;
      return { contents: `${text}\nexport const ${name} = ${without};\n`, loader: 'ts' };
    });
  },
});
