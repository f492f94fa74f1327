/** Builds dist/gateway: console, addon, migrations and thread entries in one executable. `--target all`, or names with commas between them: dist/gateway-NAME for other machines. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { brotliCompressSync, constants, zstdCompressSync } from 'node:zlib';
import type { BunPlugin } from 'bun';
import { bundleOf, counterEntry } from './bundle.ts';
import { commitOf } from './commit.ts';
import { buildConsole } from './console.ts';
import { documentsOf } from './licences/documents.ts';
import { programName, type TargetParts, targetParts, targetsNamed } from './packaging/targets.ts';

const root = resolve(import.meta.dirname, '..');
const work = join(root, '.cache', 'build');

/** Swaps the placeholders for modules that import the embedded files. */
function embedded(console: string, addon: string, counter: string, legal: string): BunPlugin {
  return {
    name: 'embedded',
    setup(build) {
      build.onLoad({ filter: /server[\\/]embedded[\\/]console-files\.ts$/ }, () => ({
        contents: console,
        loader: 'ts',
      }));
      build.onLoad({ filter: /server[\\/]embedded[\\/]legal-files\.ts$/ }, () => ({ contents: legal, loader: 'ts' }));
      build.onLoad({ filter: /server[\\/]embedded[\\/]embedded-addon\.ts$/ }, () => ({
        contents: addon,
        loader: 'ts',
      }));
      build.onLoad({ filter: /server[\\/]embedded[\\/]counter-path\.ts$/ }, () => ({
        contents: `import file from ${JSON.stringify(counter)} with { type: 'file' };\nexport const counterPath: string | null = file;`,
        loader: 'ts',
      }));
    },
  };
}

function consoleModule(): string {
  const dist = join(root, 'web', 'dist');
  const packed = join(work, 'console');
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  const imports: string[] = [];
  const rows: string[] = [];
  for (const [index, path] of [...new Bun.Glob('**/*').scanSync({ cwd: dist })].sort().entries()) {
    const bytes = readFileSync(join(dist, path));
    const packs = /\.(html|js|css|svg|json|webmanifest)$/.test(path);
    const embed = (name: string, extension: string, pack: () => Uint8Array): string => {
      const file = join(packed, `${index}.${extension}`);
      writeFileSync(file, pack());
      imports.push(`import ${name}${index} from ${JSON.stringify(file)} with { type: 'file' };`);
      return `${name}${index}`;
    };
    const plain = packs ? 'null' : embed('plain', 'bin', () => bytes);
    const brotli = !packs
      ? 'null'
      : embed('brotli', 'br', () =>
          brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
        );
    rows.push(`{ path: ${JSON.stringify(`/${path}`)}, plain: ${plain}, brotli: ${brotli} }`);
  }
  return `${imports.join('\n')}\nexport const consoleFiles = [${rows.join(',\n')}];`;
}

/** glibc and musl need different addons. */
function addonFile(): string {
  const libc = process.platform === 'linux' && existsSync('/etc/alpine-release') ? 'musl' : '';
  return join(root, 'node_modules', 'better-sqlite3', 'prebuilds', `${process.platform}${libc}-${process.arch}.node`);
}

/** @returns the file that holds it packed, for what is unpacked before it is used. */
function packedFile(bytes: Uint8Array, name: string): string {
  const file = join(work, `${name}.zst`);
  writeFileSync(file, zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }));
  return file;
}

function addonModule(addon: string): string {
  const bytes = readFileSync(addon);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return `import packed from ${JSON.stringify(packedFile(bytes, basename(addon)))} with { type: 'file' };
export const embeddedAddon = { packed, sha256: '${sha256}', size: ${bytes.length} };`;
}

/** Its tables are large and seldom needed: as source they take a third of what they would as bytecode, and packed a third of that. */
async function counterFile(): Promise<string> {
  const built = await Bun.build({
    entrypoints: [join(root, counterEntry)],
    outdir: join(work, 'counter'),
    target: 'bun',
    minify: true,
    format: 'esm',
  });
  for (const message of built.logs) console.error(String(message));
  const [file] = built.outputs;
  if (!built.success || file === undefined) process.exit(1);
  return packedFile(readFileSync(file.path), 'counter');
}

/** Seldom asked for, so kept as small as it gets. */
async function legalModule(): Promise<string> {
  const documents = await documentsOf(root);
  const names = ['sbom', 'licences'] as const;
  const imports = names.map((name) => {
    const file = join(work, `${name}.br`);
    writeFileSync(file, brotliCompressSync(documents[name]));
    return `import ${name} from ${JSON.stringify(file)} with { type: 'file' };`;
  });
  return `${imports.join('\n')}\nexport const legalFiles = { ${names.join(', ')} };`;
}

interface Needed {
  readonly file: string;
  readonly addon: string;
  /** undefined = for machines like this one, with the runtime that builds. */
  readonly parts?: TargetParts;
}

const defined = {
  GATEWAY_COMMIT: JSON.stringify(commitOf(root)),
  GATEWAY_RELEASE_KEY: JSON.stringify(process.env.RELEASE_PUBLIC_KEY ?? ''),
};

const requested = process.argv.indexOf('--target');
const names = requested < 0 ? [] : targetsNamed(process.argv[requested + 1] ?? '');

await buildConsole(root);
mkdirSync(work, { recursive: true });
const shared = [consoleModule(), await counterFile(), await legalModule()] as const;

async function build({ file, addon, parts }: Needed): Promise<void> {
  const [console_, counter, legal] = shared;
  const result = await Bun.build({
    ...bundleOf(root, defined, [embedded(console_, addonModule(addon), counter, legal)]),
    minify: true,
    bytecode: true,
    compile: {
      outfile: join(root, 'dist', file),
      // Users start the executable in folders that are not theirs to trust: a bunfig.toml there would run code, a .env there would name another server.
      autoloadBunfig: false,
      autoloadDotenv: false,
      ...(parts === undefined ? {} : { target: parts.bun, executablePath: parts.runtime }),
    },
  });
  for (const message of result.logs) console.error(String(message));
  if (!result.success) process.exit(1);
  console.log(`dist/${file} ${(Bun.file(join(root, 'dist', file)).size / 1e6).toFixed(0)} MB`);
}

if (names.length === 0) await build({ file: 'gateway', addon: addonFile() });
for (const name of names) {
  const parts = await targetParts(root, name);
  await build({ file: programName(name), addon: parts.addon, parts });
}
