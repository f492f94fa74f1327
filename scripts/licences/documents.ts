/** The list of parts (CycloneDX 1.6) and the licence texts that travel in the executable: same sources, same bytes. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { bundledFiles } from './bundled.ts';
import { type BundledPackage, packagesOf, purlOf } from './packages.ts';
import { type Part, type Runtime, runtimeOf } from './runtime.ts';

export interface Documents {
  readonly sbom: string;
  readonly licences: string;
}

type Lock = { readonly packages: Readonly<Record<string, readonly unknown[]>> };

/** `name@version` -> SHA-512 of the package's archive, hexadecimal. */
function hashesOf(root: string): Map<string, string> {
  const lock = Bun.JSONC.parse(readFileSync(join(root, 'bun.lock'), 'utf8')) as Lock;
  return new Map(
    Object.values(lock.packages).flatMap((row) => {
      const sum = /^sha512-(.+)$/.exec(String(row.at(-1)))?.[1];
      return sum === undefined ? [] : [[String(row[0]), Buffer.from(sum, 'base64').toString('hex')] as const];
    }),
  );
}

const known = (root: string): Set<string> =>
  new Set(JSON.parse(readFileSync(join(root, 'node_modules/spdx-license-list/spdx-simple.json'), 'utf8')) as string[]);

function bomOf(packages: readonly BundledPackage[], runtime: Runtime, hashes: Map<string, string>, ids: Set<string>) {
  const licensesOf = (license: string) =>
    ids.has(license)
      ? [{ license: { id: license } }]
      : / (OR|AND|WITH) /.test(license)
        ? [{ expression: license }]
        : [{ license: { name: license } }];
  const partOf = ({ name, version, license, url, kind, parts }: Part, inside = ''): object => ({
    type: kind,
    'bom-ref': `${inside}${name}${version === '' ? '' : `@${version}`}`,
    name,
    ...(version === '' ? {} : { version }),
    licenses: licensesOf(license),
    ...(url === '' ? {} : { externalReferences: [{ type: 'website', url }] }),
    ...(parts.length === 0 ? {} : { components: parts.map((part) => partOf(part, `${name}/`)) }),
  });
  const own = purlOf(manifest.name, manifest.version);
  const selected = new Set(packages.flatMap((one) => one.dependsOn));
  const refOf = (one: BundledPackage): string => purlOf(one.name, one.version);
  const direct = packages.filter((one) => one.name in manifest.dependencies || !selected.has(refOf(one))).map(refOf);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'application',
        'bom-ref': own,
        name: manifest.name,
        version: manifest.version,
        licenses: licensesOf(manifest.license),
        purl: own,
      },
    },
    components: [
      ...packages.map((one) => {
        const [scope, bare] = one.name.startsWith('@') ? one.name.split('/') : [undefined, one.name];
        const hash = hashes.get(`${one.name}@${one.version}`);
        return {
          type: 'library',
          'bom-ref': refOf(one),
          ...(scope === undefined ? {} : { group: scope }),
          name: bare,
          version: one.version,
          ...(hash === undefined ? {} : { hashes: [{ alg: 'SHA-512', content: hash }] }),
          licenses: licensesOf(one.license),
          purl: refOf(one),
        };
      }),
      ...runtime.parts.map((part) => partOf(part)),
    ],
    dependencies: [
      { ref: own, dependsOn: [...direct, ...runtime.parts.map((part) => `${part.name}@${part.version}`)] },
      ...packages.map((one) => ({ ref: refOf(one), dependsOn: one.dependsOn })),
    ],
  };
}

const rule = '-'.repeat(78);

function textsOf(root: string, packages: readonly BundledPackage[], runtime: Runtime): string {
  const byText = new Map<string, string[]>();
  for (const { name, version, license, text } of packages) {
    const names = byText.get(text) ?? [];
    names.push(`${name} ${version} (${license})`);
    byText.set(text, names);
  }
  const sections = [...[...byText].map(([text, names]) => [names.join('\n'), text] as const), ...runtime.texts];
  const own = readFileSync(join(root, 'LICENSE'), 'utf8').trim();
  return [
    `${manifest.name} ${manifest.version}\n\n${own}\n\nThis executable contains the works below, under the licences that follow their names.\n`,
    ...sections.map(([title, text]) => `${rule}\n${title}\n${rule}\n\n${text}\n`),
  ].join('\n');
}

/** @throws Error that names every package without a licence text. */
export async function documentsOf(root: string): Promise<Documents> {
  const packages = packagesOf(root, await bundledFiles(root), join(import.meta.dirname, 'texts'));
  const runtime = runtimeOf(root, manifest.packageManager.split('@')[1] ?? '');
  const bom = bomOf(packages, runtime, hashesOf(root), known(root));
  return { sbom: `${JSON.stringify(bom, null, 1)}\n`, licences: textsOf(root, packages, runtime) };
}
