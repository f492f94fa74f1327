/** Why a backup failed, in sentences for operators. A service's own words are left out: they may repeat what it was sent. */
import { AppError, formatError } from '../../contract/errors.ts';

interface Reason {
  readonly codes: readonly string[];
  /** No space stands before the first Chinese character: that is how `storedIn` separates the two languages. */
  readonly zh: (place: string) => string;
  readonly en: (place: string) => string;
}

const reasons: readonly Reason[] = [
  {
    codes: ['ERR_S3_MISSING_CREDENTIALS'],
    zh: () => '缺少对象存储的密钥：请设置 backup_setting.s3_key_id 和 backup_setting.s3_secret',
    en: () => 'the bucket has no credentials: set backup_setting.s3_key_id and backup_setting.s3_secret',
  },
  {
    codes: ['ERR_S3_INVALID_ENDPOINT', 'ERR_INVALID_URL', 'InvalidEndpoint'],
    zh: () => '对象存储的地址无效：请检查 backup_setting.s3_endpoint',
    en: () => 'the address of the bucket is not valid: check backup_setting.s3_endpoint',
  },
  {
    codes: ['NoSuchBucket'],
    zh: (place) => `存储桶不存在：${place}`,
    en: (place) => `there is no such bucket: ${place}`,
  },
  {
    codes: ['AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'AllAccessDisabled', 'ExpiredToken'],
    zh: (place) => `对象存储拒绝访问 ${place}：请检查 backup_setting.s3_key_id、s3_secret、s3_region 及其权限`,
    en: (place) =>
      `access to ${place} is denied: check backup_setting.s3_key_id, s3_secret, s3_region and what they may do`,
  },
  {
    codes: ['RequestTimeTooSkewed'],
    zh: () => '本机时钟与对象存储相差过大：请校准时钟',
    en: () => 'the clock of this machine differs too much from that of the bucket: set it',
  },
  {
    codes: [
      ...['ConnectionRefused', 'ConnectionClosed', 'ConnectionReset', 'FailedToOpenSocket', 'Timeout', 'TimeoutError'],
      ...['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'],
    ],
    zh: (place) => `无法连接到 ${place}：请检查 backup_setting.s3_endpoint 与网络`,
    en: (place) => `${place} cannot be reached: check backup_setting.s3_endpoint and the network`,
  },
  { codes: ['ENOSPC', 'EDQUOT'], zh: (place) => `磁盘已满：${place}`, en: (place) => `the disk is full: ${place}` },
  {
    codes: ['EACCES', 'EPERM', 'EROFS'],
    zh: (place) => `无权写入 ${place}`,
    en: (place) => `${place} cannot be written by this user`,
  },
  {
    codes: ['ENOENT', 'ENOTDIR'],
    zh: (place) => `目录不存在：${place}`,
    en: (place) => `there is no such directory: ${place}`,
  },
];

const unknown = {
  zh: (code: string) => `原因未知（${code}）`,
  en: (code: string) => `it failed for a reason that is not known here (${code})`,
};

/** @param place folder or bucket, '' = it is not known. @returns both languages, as `storedIn` separates them. */
export function backupReason(error: unknown, place: string): string {
  if (error instanceof AppError) return `${error.message} / ${formatError(error.code, error.params, 'zh')}`;
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  const known = String(code ?? name ?? '').slice(0, 100);
  const found = reasons.find(({ codes }) => codes.includes(known));
  const { en, zh } = found ?? unknown;
  return `${en(found === undefined ? known : place)} / ${zh(found === undefined ? known : place)}`;
}
