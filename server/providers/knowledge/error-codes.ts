/** Codes by which vendors tell an error inside of a response with status 200, and the statuses that they stand for. */
import type { WithSource } from './row.ts';

interface ErrorCodes extends WithSource {
  /** Slugs of the catalogue. */
  readonly providers: readonly string[];
  /** The first that matches decides. */
  readonly codes: readonly (readonly [code: RegExp, status: number])[];
}

const errorCodes: readonly ErrorCodes[] = [
  {
    providers: ['minimax'],
    codes: [
      [/^(?:1002|1039|1041|2045|2056)$/, 429],
      [/^(?:1004|2049)$/, 401],
      [/^1008$/, 402],
      [/^1001$/, 504],
      [/^(?:1026|1027|1042|1043|1044|2013|2037|2038|2039|2042|2048|20132)$/, 400],
      [/^(?:1000|1013|1024|1033)$/, 500],
    ],
    source: 'https://platform.minimax.io/docs/api-reference/errorcode.md',
  },
  {
    providers: ['zhipu', 'zhipu-v4'],
    codes: [
      [/^100[0-4]$/, 401],
      [/^(?:1110|1111|1112|1121)$/, 403],
      [/^(?:1113|1309)$/, 402],
      [/^(?:1211|1221|1222)$/, 404],
      [/^(?:1220|1311)$/, 403],
      [/^(?:121[02-5]|1231|1261|130[01])$/, 400],
      [/^(?:130[2-58]|131[023])$/, 429],
      [/^(?:500|1120|1230|1234)$/, 500],
    ],
    source: 'https://docs.z.ai/api-reference/api-code',
  },
  {
    providers: ['ali'],
    codes: [
      [/^Throttling|^limit_requests$|^insufficient_quota$/i, 429],
      [/^Arrearage/i, 402],
      [/^InvalidApiKey|^invalid_api_key$/i, 401],
      [/^AccessDenied|^access_denied$/i, 403],
      [/^ModelNotFound|^model_not_found$/i, 404],
      [/^RequestTimeOut/i, 504],
      [/^(?:Invalid|BadRequest|UnsupportedOperation|DataInspection|data_inspection)/i, 400],
      [/^(?:InternalError|ServiceUnavailable|ModelUnavailable|SystemError)/i, 503],
    ],
    source: 'https://help.aliyun.com/zh/model-studio/error-code',
  },
];

/** Whose codes stand in an object of this name, whatever host sent it. */
const owners: Readonly<Record<string, string>> = { base_resp: 'minimax' };

/** @param provider slug of the catalogue. @param type of the error, where that names an object of one vendor. @returns an HTTP status; null = the code is in no row. */
export function statusOfCode(provider: string, type: string | null, code: string | null): number | null {
  if (code === null) return null;
  const owner = Object.hasOwn(owners, type ?? '') ? owners[type ?? ''] : provider;
  const rows = errorCodes.find(({ providers }) => providers.includes(owner ?? ''));
  return rows?.codes.find(([pattern]) => pattern.test(code))?.[1] ?? null;
}
