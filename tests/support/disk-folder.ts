/** Folders for what a crash, a full disk or a damaged file leaves behind: `npm test` keeps its other files in memory. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const diskFolder = (name: string): string =>
  mkdtempSync(join(process.env.GATEWAY_TEST_DISK ?? tmpdir(), `${name}-`));
