/**
 * Which rows a reader sees of lists of 100, 101, 200 and 1,000 rows, in every table of the console, at 1440 and 390 pixels.
 * Needs `npm run build` and Chromium. `TABLE...` narrows it to some of them.
 */
import { openInside } from '../../../tests/browser/inside.ts';
import { rowsSeen, tablesOf } from '../../../tests/browser/tables.ts';

const selected = process.argv.slice(2);
const sizes = [100, 101, 200, 1000];
const widths = [1440, 390];
const inside = await openInside();
const tables = Object.entries(await tablesOf(inside)).filter(
  ([name]) => selected.length === 0 || selected.includes(name),
);
let failures = 0;
for (const size of sizes)
  for (const [name, table] of tables) {
    await table.fill(size);
    for (const width of widths) {
      await inside.page.setViewportSize({ width, height: 800 });
      const startedAt = performance.now();
      const seen = await rowsSeen(inside, table);
      if (seen !== size) failures++;
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      console.log(
        `${seen === size ? 'ok  ' : 'FAIL'} ${name.padEnd(24)} ${width} px: ${seen} of ${size} rows, ${seconds} s`,
      );
    }
  }
await inside.stage.close();
console.log(`${sizes.length * widths.length * tables.length} lists, ${failures} with rows that are never shown`);
process.exit(failures === 0 ? 0 : 1);
