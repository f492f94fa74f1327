/** Which commit the sources are of; images that build from a copy of them need not have git. */

/** @param path where programs are looked for. @returns 'unknown' without git, or outside of a repository. */
export function commitOf(root: string, path = process.env.PATH ?? ''): string {
  const git = Bun.which('git', { PATH: path });
  if (git === null) return 'unknown';
  return Bun.spawnSync([git, 'rev-parse', '--short', 'HEAD'], { cwd: root }).stdout.toString().trim() || 'unknown';
}
