/** Saves a file that the API makes. */
import { basePath } from './base-path.ts';
import { currentLanguage } from './i18n.ts';
import { readUser } from './stored-user.ts';

/** @param address from the root of the site. @param name of the file where the answer gives none. @throws Error with the status when the API refuses. */
export async function download(address: string, name: string): Promise<void> {
  const response = await fetch(basePath + address, {
    headers: { 'new-api-user': String(readUser()?.id ?? ''), 'accept-language': currentLanguage() },
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = /filename="?([^";]+)/.exec(response.headers.get('content-disposition') ?? '')?.[1] ?? name;
  link.click();
  URL.revokeObjectURL(url);
}
