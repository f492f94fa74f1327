/** Pictures as OpenAI lists them. */
import type { Requested } from '../adapter.ts';

export interface Image {
  readonly url?: string | null;
  readonly base64?: string | null;
  readonly mimeType?: string | null;
  /** The prompt as the model improved it. */
  readonly prompt?: string | null;
}

/** @param usage OpenAI's object, where the model counts tokens. */
export function imageList(images: readonly Image[], { body, created }: Requested, usage?: unknown): unknown {
  const data = images.flatMap(({ url, base64, mimeType, prompt }): Record<string, unknown>[] => {
    const revised = prompt == null ? {} : { revised_prompt: prompt };
    if (url != null) return [{ url, ...revised }];
    if (base64 == null) return [];
    // A client that wants an address gets one that holds the picture.
    const reported =
      body.response_format === 'url'
        ? { url: `data:${mimeType ?? 'image/png'};base64,${base64}` }
        : { b64_json: base64 };
    return [{ ...reported, ...revised }];
  });
  return { created, data, ...(usage === undefined ? {} : { usage }) };
}

/** `1024x768` as numbers; null for `auto` and everything else. */
export function sizeOf({ body }: Requested): { readonly width: number; readonly height: number } | null {
  const found = /^(\d{2,5})[x*](\d{2,5})$/.exec(typeof body.size === 'string' ? body.size : '');
  return found === null ? null : { width: Number(found[1]), height: Number(found[2]) };
}

/** @throws nothing: an absent prompt is the upstream's to refuse. */
export const promptOf = ({ body }: Requested): string => (typeof body.prompt === 'string' ? body.prompt : '');

/** An upstream's refusal of an image in OpenAI's form. */
export const imageError = (type: string, code: string | null, message: string): unknown => ({
  error: { message, type, code },
});
