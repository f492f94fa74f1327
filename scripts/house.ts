/** Prints how the code is as a place to live in; ends with 1 when a limit is passed. `--list N` also prints the N largest functions of each kind. */
import { measureHouse } from './house/measure.ts';

const at = process.argv.indexOf('--list');
const { summary, faults } = measureHouse(at < 0 ? 0 : Number(process.argv[at + 1]));
for (const line of [...summary, ...faults]) console.log(line);
process.exit(faults.length > 0 ? 1 : 0);
