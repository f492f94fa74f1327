/** Which files of other packages are in the executable, as the bundlers report them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundleOf, counterEntry } from '../bundle.ts';
import { buildConsole, consoleModules } from '../console.ts';

interface Metafile {
  readonly outputs: Readonly<Record<string, { readonly inputs: Readonly<Record<string, unknown>> }>>;
}

/** Modules of server, threads and command line, as paths from the root. @throws Error when they do not bundle. */
async function programModules(root: string): Promise<string[]> {
  const plain = bundleOf(root);
  const entrypoints = [...plain.entrypoints, join(root, counterEntry)];
  const built = await Bun.build({ ...plain, entrypoints, metafile: true });
  if (!built.success) throw new Error(built.logs.join('\n'));
  const { outputs } = built.metafile as unknown as Metafile;
  return Object.values(outputs).flatMap((output) => Object.keys(output.inputs));
}

/** The driver is C++: what is compiled into it is not seen by a bundler. */
const compiledIn = ['better-sqlite3', 'node-addon-api'];

/** @returns paths from the root, each once, sorted. */
export async function bundledFiles(root: string): Promise<string[]> {
  await buildConsole(root);
  const web = JSON.parse(readFileSync(consoleModules(root), 'utf8')) as string[];
  const native = compiledIn.map((name) => `node_modules/${name}/package.json`);
  const all = [...(await programModules(root)), ...web, ...native].filter((path) => path.includes('node_modules/'));
  const missing = all.find((path) => !existsSync(join(root, path)));
  if (missing !== undefined) throw new Error(`${missing} is bundled and not there`);
  return [...new Set(all)].sort();
}
