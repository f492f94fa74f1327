/** What a failed connection to PostgreSQL means, in words that say what to do. */
import { AppError } from '../../server/contract/errors.ts';
import { type PostgresPlace, placeName } from '../place.ts';

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
};

const wrongPassword = ['28P01', '28000'];
const noDatabase = '3D000';
const tooMany = ['53300', '53200'];
const starting = ['57P03', '57P02', '57P01'];

/** Connection exceptions, too few resources, and a server that is stopped or not yet started. */
const lostStates = /^(08|53|57P)/;
const lostSockets = /^(ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND)$/;
const lostWords = /connection (terminated|ended|error)|timeout (expired|exceeded)/i;

/** The connection to the server failed, not the query. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof AppError) return false;
  const code = codeOf(error);
  return lostStates.test(code) || lostSockets.test(code) || lostWords.test(error instanceof Error ? error.message : '');
}

/** Node and OpenSSL name certificate trouble in capitals, each library in its own. */
const certificate = /certificate|CERT_|SELF_SIGNED|ERR_TLS|UNABLE_TO_VERIFY|altnames/i;

export function errorFor(error: unknown, place: PostgresPlace): AppError {
  if (error instanceof AppError) return error;
  const name = placeName(place);
  const code = codeOf(error);
  const detail = error instanceof Error && error.message !== '' ? error.message : code;
  const params = { name, detail };
  if (/no encryption|SSL off|requires? SSL/i.test(detail)) return new AppError('database_tls_required', params, error);
  if (/does not support SSL/i.test(detail) || certificate.test(`${code} ${detail}`))
    return new AppError('database_tls', params, error);
  if (wrongPassword.includes(code) || /SASL|password/i.test(detail))
    return new AppError('database_password', params, error);
  if (code === noDatabase) return new AppError('database_absent', params, error);
  if (tooMany.includes(code)) return new AppError('database_full', params, error);
  if (starting.includes(code)) return new AppError('database_starting', params, error);
  return new AppError('database_unreachable', params, error);
}
