/** Writes dist/gateway.cdx.json and dist/licences.txt: what is in the executable, and under which licences. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { documentsOf } from './licences/documents.ts';

const root = resolve(import.meta.dirname, '..');
const { sbom, licences } = await documentsOf(root);
mkdirSync(join(root, 'dist'), { recursive: true });
writeFileSync(join(root, 'dist', 'gateway.cdx.json'), sbom);
writeFileSync(join(root, 'dist', 'licences.txt'), licences);
console.log('dist/gateway.cdx.json dist/licences.txt');
