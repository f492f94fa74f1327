/** The body of an answer as text. @param mostBytes of it. @throws Error when there is more. */
export async function textWithin(response: Response, mostBytes: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > mostBytes) throw new Error(`more than ${mostBytes / 1e6} MB`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
