/** Where scheduled backups lie: a folder, or a bucket of an S3-compatible service. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { S3Client } from 'bun';
import { AppError } from '../../contract/errors.ts';
import type { OptionsService } from '../options/service.ts';

export interface BackupPlace {
  /** For people: no key is in it. */
  readonly name: string;
  /** Brings a file there; it is gone here afterwards or not, as the place likes. */
  put(file: string, name: string): Promise<void>;
  /** Brings it back for a look; null = it lies where it can be looked at. @param target a file that does not exist. */
  fetch(name: string, target: string): Promise<void> | null;
  /** Names that begin so. */
  list(beginning: string): Promise<string[]>;
  remove(name: string): Promise<void>;
}

/** @param fallback folder where none is named. @throws AppError backup_place */
export function backupPlace({ get }: Pick<OptionsService, 'get'>, fallback: string): BackupPlace {
  if (get('backup_setting.s3_bucket') !== '') return bucket(get);
  const folder = get('backup_setting.folder') || fallback;
  if (!isAbsolute(folder)) throw new AppError('backup_place', { detail: folder });
  return inFolder(folder);
}

function inFolder(folder: string): BackupPlace {
  return {
    name: folder,
    async put(file, name) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const target = join(folder, name);
      try {
        renameSync(file, target);
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'EXDEV') throw error;
        // Another disk: whole under its name, or not at all.
        await Bun.write(`${target}.part`, Bun.file(file), { mode: 0o600 });
        renameSync(`${target}.part`, target);
      }
    },
    fetch: (name, target) => Bun.write(target, Bun.file(join(folder, name)), { mode: 0o600 }).then(() => undefined),
    list: async (beginning) =>
      existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith(beginning)) : [],
    remove: async (name) => rmSync(join(folder, name), { force: true }),
  };
}

function bucket(get: OptionsService['get']): BackupPlace {
  const name = get('backup_setting.s3_bucket');
  const endpoint = get('backup_setting.s3_endpoint');
  const client = new S3Client({
    bucket: name,
    region: get('backup_setting.s3_region') || 'us-east-1',
    accessKeyId: get('backup_setting.s3_key_id'),
    secretAccessKey: get('backup_setting.s3_secret'),
    ...(endpoint === '' ? {} : { endpoint }),
  });
  const folder = get('backup_setting.s3_prefix').replace(/^\/+|\/+$/g, '');
  const prefix = folder === '' ? '' : `${folder}/`;
  return {
    name: `s3://${name}/${prefix}`,
    put: async (file, key) =>
      void (await client.write(prefix + key, Bun.file(file), { type: 'application/octet-stream' })),
    fetch: (key, target) => Bun.write(target, client.file(prefix + key), { mode: 0o600 }).then(() => undefined),
    async list(beginning) {
      const names: string[] = [];
      for (let from: string | undefined; ; ) {
        const page = await client.list({
          prefix: prefix + beginning,
          ...(from === undefined ? {} : { continuationToken: from }),
        });
        names.push(...(page.contents ?? []).map(({ key }) => key.slice(prefix.length)));
        from = page.isTruncated === true ? page.nextContinuationToken : undefined;
        if (from === undefined) return names;
      }
    },
    remove: (key) => client.delete(prefix + key),
  };
}
