/** Packages that bundled files belong to, each with its licence and the text of it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX identifier or expression. */
  readonly license: string;
  readonly text: string;
  /** Package URLs of bundled packages that it asks for. */
  readonly dependsOn: readonly string[];
}

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

const manifestOf = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

export const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace(/^@/, '%40')}@${version}`;

/** Folder of the package a file belongs to: packages may hold package.json files that name nothing. */
function folderOf(root: string, file: string): string {
  for (let folder = dirname(join(root, file)); folder !== root; folder = dirname(folder)) {
    if (!existsSync(join(folder, 'package.json'))) continue;
    const { name, version } = manifestOf(folder);
    if (name !== undefined && version !== undefined) return folder;
  }
  throw new Error(`${file} belongs to no package`);
}

/** Where `import name` leads from a folder, as Node looks for it. */
function resolved(root: string, from: string, name: string): string | null {
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
    if (folder === root) return null;
  }
  return null;
}

const isText = (name: string): boolean =>
  /^(licen[cs]e|copying|notice|copyright)/i.test(name) && !/\.[cm]?js$/.test(name);

/** Texts of packages that forgot theirs lie in `texts/`, with the copyright line of their sources. */
function textOf(folder: string, name: string, kept: string): string {
  const own = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isText(entry.name))
    .map((entry) => join(folder, entry.name))
    .sort();
  const files =
    own.length > 0 ? own : [join(kept, `${name.replace('/', '__')}.txt`)].filter((file) => existsSync(file));
  return files.map((file) => readFileSync(file, 'utf8').replaceAll('\r\n', '\n').trim()).join('\n\n');
}

/** @param files paths from the root. @param kept folder of texts for packages without one. @throws Error that names every package without a licence or its text. */
export function packagesOf(root: string, files: readonly string[], kept: string): BundledPackage[] {
  const folders = new Set(files.map((file) => folderOf(root, file)));
  const bare: string[] = [];
  const found = new Map<string, BundledPackage>();
  for (const folder of [...folders].sort()) {
    const { name = '', version = '', license = '', dependencies, peerDependencies } = manifestOf(folder);
    const text = textOf(folder, name, kept);
    if (text === '' || license === '') bare.push(`${name}@${version}`);
    const dependsOn = Object.keys({ ...dependencies, ...peerDependencies }).flatMap((dependency) => {
      const target = resolved(root, folder, dependency);
      if (target === null || !folders.has(target)) return [];
      const { name: other = '', version: at = '' } = manifestOf(target);
      return [purlOf(other, at)];
    });
    found.set(`${name}@${version}`, { name, version, license, text, dependsOn: dependsOn.sort() });
  }
  if (bare.length > 0) throw new Error(`no licence text: ${bare.join(', ')}`);
  return [...found.values()].sort((a, b) => (`${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1));
}
