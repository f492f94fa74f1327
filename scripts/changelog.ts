/** Cuts a version in CHANGELOG.md and package.json (`--cut VERSION --since REF`), or prints what it says of one (`--notes VERSION`). */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const title = '# Changelog\n';

interface Section {
  readonly heading: string;
  readonly lines: readonly string[];
}

function sectionsOf(text: string): Section[] {
  const [, ...parts] = text.split(/^## /m);
  return parts.map((part) => {
    const [heading = '', ...lines] = part.split('\n');
    return { heading: heading.trim(), lines: lines.filter((line) => line !== '') };
  });
}

const written = (sections: readonly Section[]): string =>
  [title, ...sections.map(({ heading, lines }) => `## ${heading}\n\n${lines.join('\n')}\n`)].join('\n');

const versionForm = /^\d+\.\d+\.\d+$/;

/** Lines that the former release did not have become the section of the version, which stands first. @throws Error for a version that there is, or without a change. */
export function cut(now: string, former: string, version: string, date: string): string {
  if (!versionForm.test(version)) throw new Error(`--cut ${version}: a version such as 0.2.0`);
  const sections = sectionsOf(now);
  if (sections.some(({ heading }) => heading.split(' ')[0] === version)) throw new Error(`${version} is there already`);
  const old = new Set(sectionsOf(former).flatMap(({ lines }) => lines));
  const lines = sections.flatMap((section) => section.lines.filter((line) => !old.has(line)));
  if (lines.length === 0) throw new Error('nothing has changed since then');
  const rest = sections.map(({ heading, lines }) => ({ heading, lines: lines.filter((line) => old.has(line)) }));
  return written([{ heading: `${version} (${date})`, lines }, ...rest.filter((section) => section.lines.length > 0)]);
}

/** @throws Error where the version has no section. */
export function notes(text: string, version: string): string {
  const section = sectionsOf(text).find(({ heading }) => heading.split(' ')[0] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md says nothing of ${version}`);
  return `${section.lines.join('\n')}\n`;
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const file = join(root, 'CHANGELOG.md');
  const given = (flag: string): string => process.argv[process.argv.indexOf(flag) + 1] ?? '';
  const text = readFileSync(file, 'utf8');
  if (process.argv.includes('--notes')) process.stdout.write(notes(text, given('--notes')));
  else if (process.argv.includes('--cut') && process.argv.includes('--since')) {
    const version = given('--cut');
    const shown = Bun.spawnSync(['git', 'show', `${given('--since')}:CHANGELOG.md`], { cwd: root });
    if (shown.exitCode !== 0) throw new Error(shown.stderr.toString().trim());
    writeFileSync(file, cut(text, shown.stdout.toString(), version, new Date().toISOString().slice(0, 10)));
    const manifest = join(root, 'package.json');
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(/"version": "[^"]+"/, `"version": "${version}"`));
  } else throw new Error('--cut VERSION --since REF, or --notes VERSION');
}
