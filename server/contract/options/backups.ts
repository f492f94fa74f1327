/** Backups by the clock. */
import { address, integer, text } from '../option-kinds.ts';
import { option } from './row.ts';

const common = { tab: 'operation', panel: 'backups', role: 100 } as const;

export const backupOptions = {
  'backup_setting.every_hours': option({
    ...common,
    kind: integer(0, 744),
    fallback: '0',
    label: { zh: '备份间隔（小时，0 = 关闭）', en: 'Hours between backups (0 = none)' },
    help: {
      zh: '写入后重新打开并校验数据库与账本；主密钥不在其中，请另行保存。',
      en: 'Each backup is opened again and its ledger is checked. It does not contain the master key: keep that elsewhere.',
    },
  }),
  'backup_setting.keep': option({
    ...common,
    kind: integer(1, 1000),
    fallback: '7',
    label: { zh: '保留份数', en: 'Backups kept' },
    help: { zh: '新的备份校验通过后删除更旧的。', en: 'Older ones are removed once a new one has proven good.' },
  }),
  'backup_setting.folder': option({
    ...common,
    kind: text,
    fallback: '',
    label: { zh: '备份目录', en: 'Backup directory' },
    help: {
      zh: '服务器上的绝对路径；为空则为数据目录下的 backups/scheduled。',
      en: 'An absolute path on the server. Leave empty for backups/scheduled in the data directory.',
    },
  }),
  'backup_setting.s3_bucket': option({
    ...common,
    kind: text,
    fallback: '',
    label: { zh: 'S3 存储桶', en: 'S3 bucket' },
    help: { zh: '填写后备份存入该桶而非目录。', en: 'Backups are stored there instead of a directory.' },
  }),
  'backup_setting.s3_endpoint': option({
    ...common,
    kind: address,
    fallback: '',
    label: { zh: 'S3 服务地址', en: 'S3 endpoint' },
    help: {
      zh: '兼容 S3 的服务，例如 https://minio.example.com；为空则为 AWS。',
      en: 'Of an S3-compatible service, such as https://minio.example.com. Leave empty for AWS.',
    },
  }),
  'backup_setting.s3_region': option({
    ...common,
    kind: text,
    fallback: '',
    label: { zh: 'S3 区域', en: 'S3 region' },
    help: { zh: '默认：us-east-1。', en: 'Default: us-east-1.' },
  }),
  'backup_setting.s3_prefix': option({
    ...common,
    kind: text,
    fallback: '',
    label: { zh: 'S3 目录', en: 'Directory in the bucket' },
    help: { zh: '为空则在桶的根目录。', en: 'Empty is the bucket itself.' },
  }),
  'backup_setting.s3_key_id': option({
    ...common,
    kind: text,
    fallback: '',
    secret: true,
    label: { zh: 'S3 访问密钥 ID', en: 'S3 access key id' },
    help: {
      zh: '只需读写删除与列出对象的权限。',
      en: 'Needs permission to read, write, delete and list objects.',
    },
  }),
  'backup_setting.s3_secret': option({
    ...common,
    kind: text,
    fallback: '',
    secret: true,
    label: { zh: 'S3 访问密钥', en: 'S3 secret key' },
    help: { zh: '加密保存，不再显示。', en: 'Sealed, and never shown again.' },
  }),
} as const;
