/** Counts files and functions and lists circles between files; ends with 1 when there is a circle. `--list N` prints the N largest functions by each measure. */
import { measureCode } from './house/measure.ts';

const at = process.argv.indexOf('--list');
const { summary, errors } = measureCode(at < 0 ? 0 : Number(process.argv[at + 1]));
for (const line of [...summary, ...errors]) console.log(line);
process.exit(errors.length > 0 ? 1 : 0);
