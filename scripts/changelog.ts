/** Cuts a version in CHANGELOG.md and package.json (`--cut VERSION --since REF`), or prints what it says of one (`--notes VERSION`). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Kinds of changes as https://keepachangelog.com names them, in the order in which they are written. */
const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const;

interface Change {
  /** One of `kinds`. */
  readonly kind: string;
  readonly line: string;
}

interface Section {
  readonly heading: string;
  readonly changes: readonly Change[];
}

/** @throws Error for a change below no kind or below an unknown one. */
function sectionsOf(text: string): Section[] {
  const [, ...parts] = text.split(/^## /m);
  return parts.map((part) => {
    const [heading = '', ...lines] = part.split('\n');
    const changes: Change[] = [];
    let kind = '';
    for (const line of lines) {
      if (line.startsWith('### ')) kind = line.slice(4).trim();
      else if (line !== '') changes.push({ kind, line });
    }
    const wrong = changes.find((change) => !kinds.some((known) => known === change.kind));
    if (wrong !== undefined)
      throw new Error(`${heading.trim()}: ${wrong.line} stands below none of ${kinds.join(', ')}`);
    return { heading: heading.trim(), changes };
  });
}

const bodyOf = (changes: readonly Change[]): string =>
  kinds
    .map((kind) => [kind, changes.filter((change) => change.kind === kind)] as const)
    .filter(([, found]) => found.length > 0)
    .map(([kind, found]) => `### ${kind}\n\n${found.map(({ line }) => line).join('\n')}\n`)
    .join('\n');

/** @param head what stands before the first version. */
const written = (head: string, sections: readonly Section[]): string =>
  [`${head.trimEnd()}\n`, ...sections.map(({ heading, changes }) => `## ${heading}\n\n${bodyOf(changes)}`)].join('\n');

const versionForm = /^\d+\.\d+\.\d+$/;

/** Lines that the former release did not have become the section of the version, which stands first. @throws Error for a version that there is, or without a change. */
export function cut(now: string, former: string, version: string, date: string): string {
  if (!versionForm.test(version)) throw new Error(`--cut ${version}: a version such as 0.2.0`);
  const sections = sectionsOf(now);
  if (sections.some(({ heading }) => heading.split(' ')[0] === version)) throw new Error(`${version} is there already`);
  const old = new Set(former.split('\n'));
  const changes = sections.flatMap((section) => section.changes.filter(({ line }) => !old.has(line)));
  if (changes.length === 0) throw new Error('nothing has changed since then');
  const rest = sections.map((section) => ({
    heading: section.heading,
    changes: section.changes.filter(({ line }) => old.has(line)),
  }));
  const [head = ''] = now.split(/^## /m, 1);
  return written(head, [
    { heading: `${version} (${date})`, changes },
    ...rest.filter((section) => section.changes.length > 0),
  ]);
}

/** @throws Error where the version has no section. */
export function notes(text: string, version: string): string {
  const section = sectionsOf(text).find(({ heading }) => heading.split(' ')[0] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return bodyOf(section.changes);
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const file = join(root, 'CHANGELOG.md');
  const flagValue = (flag: string): string => process.argv[process.argv.indexOf(flag) + 1] ?? '';
  const text = readFileSync(file, 'utf8');
  if (process.argv.includes('--notes')) process.stdout.write(notes(text, flagValue('--notes')));
  else if (process.argv.includes('--cut') && process.argv.includes('--since')) {
    const version = flagValue('--cut');
    const previous = Bun.spawnSync(['git', 'show', `${flagValue('--since')}:CHANGELOG.md`], { cwd: root });
    if (previous.exitCode !== 0) throw new Error(previous.stderr.toString().trim());
    writeFileSync(file, cut(text, previous.stdout.toString(), version, new Date().toISOString().slice(0, 10)));
    const manifest = join(root, 'package.json');
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, `"version": "${version}"`));
  } else throw new Error('--cut VERSION --since REF, or --notes VERSION');
}
