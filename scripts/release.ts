/** Makes everything that a release consists of in dist/release: executables, packages, their hashes and the signature. `--target all|NAMES`, `--no-build` packs what `build --target` left in dist. */
import { createHash, createPublicKey, sign } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { maxPricesAge, pricesAge, pricesDate } from '../server/contract/pricing/defaults.ts';
import { documentsOf } from './licences/documents.ts';
import { runTool } from './packaging/fetch.ts';
import { archive, homebrew, linuxPackages, npmPlatform, npmThin, type Release, scoop } from './packaging/packages.ts';
import { programName, type TargetName, targetNames, targetsNamed } from './packaging/targets.ts';

const root = resolve(import.meta.dirname, '..');
const out = join(root, 'dist', 'release');
const requested = process.argv.indexOf('--target');
const names = targetsNamed(requested < 0 ? 'all' : (process.argv[requested + 1] ?? ''));

// The build never fails for it; what is handed out has prices that people can trust.
if (pricesAge(Date.now()) > maxPricesAge)
  throw new Error(`the prices are of ${pricesDate}, more than ${maxPricesAge} days ago: npm run knowledge`);

/** The maintainers' private key, as PEM; without one nothing is signed and no executable knows a key. */
const keyFile = process.env.RELEASE_SIGNING_KEY_FILE;
const key = keyFile === undefined ? null : readFileSync(keyFile, 'utf8');
const publicKey = key === null ? '' : createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();

if (!process.argv.includes('--no-build')) {
  const env = { ...process.env, RELEASE_PUBLIC_KEY: publicKey };
  const build = [process.execPath, join(root, 'scripts/build.ts'), '--target', names.join()];
  const { exitCode } = Bun.spawnSync(build, { cwd: root, env, stdout: 'inherit', stderr: 'inherit' });
  if (exitCode !== 0) process.exit(exitCode);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const release: Release = {
  ...{ root, out, version: manifest.version, documents: await documentsOf(root) },
  time: Number(runTool(['git', 'log', '-1', '--format=%ct'], { cwd: root })),
};
const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

// An executable that was unpacked from its archive is in the list too: `gateway upgrade --from` goes by hashes.
const sums = names.map((name) => `${hashOf(join(root, 'dist', programName(name)))}  ${programName(name)}`);
const archives = new Map<TargetName, string>();
for (const name of names) {
  archives.set(name, archive(release, name));
  npmPlatform(release, name);
  if (name === 'linux-x64' || name === 'linux-arm64') linuxPackages(release, name);
  console.log(`packed ${name}`);
}
npmThin(release);
writeFileSync(join(out, 'gateway.cdx.json'), release.documents.sbom);

const { RELEASE_URL: url } = process.env;
if (url !== undefined && names.length === targetNames.length) {
  const sumOf = (target: TargetName): string => hashOf(archives.get(target) ?? '');
  writeFileSync(join(out, 'gateway.rb'), homebrew(release.version, url, sumOf));
  writeFileSync(join(out, 'gateway.json'), scoop(release.version, url, sumOf('windows-x64')));
}
for (const file of readdirSync(out).sort()) sums.push(`${hashOf(join(out, file))}  ${file}`);
const list = `${sums.join('\n')}\n`;
writeFileSync(join(out, 'SHA256SUMS'), list);
if (key !== null) {
  writeFileSync(join(out, 'SHA256SUMS.sig'), sign(null, Buffer.from(list), key));
  writeFileSync(join(out, 'release.pub'), publicKey);
}
console.log(
  `dist/release: ${readdirSync(out).length} files${key === null ? ', not signed: RELEASE_SIGNING_KEY_FILE' : ''}`,
);
