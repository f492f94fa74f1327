/** A throw-away copy of the tree, in which one file at a time is another. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface Copy {
  readonly dir: string;
  /** Puts other texts in place for the time of the work. */
  during<Result>(texts: ReadonlyMap<string, string>, work: () => Promise<Result>): Promise<Result>;
  remove(): void;
}

export function copyTree(root: string): Copy {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-mutants-'));
  const listed = Bun.spawnSync(['git', 'ls-files', '-co', '--exclude-standard'], { cwd: root });
  for (const path of listed.stdout.toString().trim().split('\n')) {
    const target = join(dir, path);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(root, path), target, { force: true });
  }
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  writeFileSync(
    join(dir, 'tsconfig.mutants.json'),
    JSON.stringify({ extends: './tsconfig.json', include: ['server', 'db', 'web', 'cli'] }),
  );
  return {
    dir,
    async during(texts, work) {
      const kept = [...texts.keys()].map((path) => [path, readFileSync(join(dir, path), 'utf8')] as const);
      for (const [path, text] of texts) writeFileSync(join(dir, path), text);
      try {
        return await work();
      } finally {
        for (const [path, text] of kept) writeFileSync(join(dir, path), text);
      }
    },
    remove: () => rmSync(dir, { recursive: true, force: true }),
  };
}
