/** Sound, pictures, moderation and ranking of the practice upstream: always the same, small and valid. */

/** A tenth of a second of silence: RIFF, mono, 8 kHz, 8 bit. */
function silence(): Uint8Array<ArrayBuffer> {
  const samples = 800;
  const bytes = new Uint8Array(44 + samples).fill(128, 44);
  const view = new DataView(bytes.buffer);
  const word = (at: number, text: string) => bytes.set(Buffer.from(text), at);
  word(0, 'RIFF');
  view.setUint32(4, 36 + samples, true);
  word(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 8000, true);
  view.setUint32(28, 8000, true);
  view.setUint16(32, 1, true);
  view.setUint16(34, 8, true);
  word(36, 'data');
  view.setUint32(40, samples, true);
  return bytes;
}

/** One grey pixel as PNG. */
const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==';

const images = (count: number) => ({
  created: 1_700_000_000,
  data: Array.from({ length: Math.min(Math.max(count, 1), 10) }, () => ({ b64_json: pixel })),
});

const recording = { text: 'practice', usage: { type: 'duration', seconds: 3 } };

/** @returns null for other paths. @param request its body has not been read. */
export async function mediaAnswer(path: string, request: Request): Promise<Response | null> {
  switch (path) {
    case '/v1/audio/speech':
      return new Response(silence(), { headers: { 'content-type': 'audio/wav' } });
    case '/v1/audio/transcriptions':
    case '/v1/audio/translations': {
      const form = await request.formData();
      return form.get('response_format') === 'text' ? new Response('practice\n') : Response.json(recording);
    }
    case '/v1/images/generations':
      return Response.json(images(Number(((await request.json()) as { n?: unknown }).n ?? 1)));
    case '/v1/images/edits':
    case '/v1/images/variations':
      return Response.json(images(Number((await request.formData()).get('n') ?? 1)));
    case '/v1/moderations':
      return Response.json({
        id: 'modr-practice',
        model: 'practice-small',
        results: [{ flagged: false, categories: {}, category_scores: {} }],
      });
    case '/v1/rerank': {
      const { documents } = (await request.json()) as { documents?: readonly unknown[] };
      const results = (documents ?? []).map((_, index) => ({ index, relevance_score: 1 / (index + 1) }));
      return Response.json({ model: 'practice-small', results, usage: { total_tokens: 10 } });
    }
    default:
      return null;
  }
}
