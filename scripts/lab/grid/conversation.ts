/** Walks conversations from upstream to upstream and prints which were refused. Ends with 1 when one was. */
import { talkers } from '../../../tests/practice/grid/talk.ts';
import { pairs, type Station, stations, walk } from '../../../tests/practice/grid/walk.ts';
import { createWorld } from '../../../tests/practice/grid/world.ts';

const world = await createWorld(Object.values(stations));
const more: readonly (readonly [Station, Station])[] = [
  'openai-responses',
  'anthropic-messages',
  'gemini-generate',
].flatMap((dialect) => [[dialect, 'deepseek'] as const, ['deepseek', dialect] as const]);
let walked = 0;
let rejected = 0;
for (const talker of talkers)
  for (const pair of [...pairs, ...more])
    for (const within of [false, true]) {
      const result = await walk(world, talker, pair, within);
      walked++;
      if (result.rejected === null) continue;
      rejected++;
      console.log(`${result.name}\n    ${result.rejected.slice(0, 200)}`);
    }
await world.close();
console.log(`${walked} walks, ${rejected} refused`);
process.exit(rejected === 0 ? 0 : 1);
