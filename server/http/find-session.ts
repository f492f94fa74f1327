/** Asks the control thread whose session a request carries. */
import { AppError, isErrorCode } from '../contract/errors.ts';
import type { FindSession } from '../relay/intake/playground.ts';
import { basePathHeader } from './base-path.ts';

const forwardedHeaders = ['cookie', 'new-api-user', 'user-agent'] as const;

/** @param socket of the control thread's forwarded listener. @param basePath under which the site is served, '' = none. */
export const createFindSession =
  (socket: string, basePath: string): FindSession =>
  async (request) => {
    const headers = new Headers();
    for (const name of forwardedHeaders) {
      const value = request.headers.get(name);
      if (value !== null) headers.set(name, value);
    }
    if (basePath !== '') headers.set(basePathHeader, basePath);
    const response = await fetch('http://control/api/user/self', { unix: socket, headers } as RequestInit);
    const { success, code, data } = (await response.json()) as {
      success: boolean;
      code?: string;
      data?: { id: number };
    };
    if (success && data !== undefined) return data.id;
    throw new AppError(code !== undefined && isErrorCode(code) ? code : 'login_required');
  };
