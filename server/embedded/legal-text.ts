/** The bill of materials and the licence texts of what is in the executable. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { AppError } from '../contract/errors.ts';
import { legalFiles } from './legal-files.ts';

const written = { sbom: 'gateway.cdx.json', licences: 'licences.txt' } as const;

/** @throws AppError usage from sources for which they were not written yet. */
export function legalText(name: keyof typeof written): string {
  if (legalFiles !== null) return brotliDecompressSync(readFileSync(legalFiles[name])).toString('utf8');
  const file = join(import.meta.dirname, '../../dist', written[name]);
  if (!existsSync(file)) throw new AppError('usage', { detail: `npm run licences (dist/${written[name]})` });
  return readFileSync(file, 'utf8');
}
