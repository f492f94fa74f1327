/** How a model is called: ready to run but for the key. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { endpointTypesOf } from '../../server/contract/endpoint-types.ts';
import { copyOrShow } from '../lib/copy.ts';
import { useServerAddress } from '../lib/status.ts';
import { Card } from './card.tsx';
import { Icon } from './icon.tsx';
import { Scrolls } from './scrolls.tsx';
import { Segment } from './segment.tsx';

const kinds = ['curl', 'Python', 'JavaScript'] as const;

/** Ready to run but for the key. */
export function snippetOf(kind: (typeof kinds)[number], model: string, site: string): string {
  const types = endpointTypesOf(model);
  const [path, what] = types.includes('embeddings')
    ? (['embeddings', { input: 'hi' }] as const)
    : types.includes('image-generation')
      ? (['images/generations', { prompt: 'a lighthouse' }] as const)
      : types.includes('jina-rerank')
        ? (['rerank', { query: 'hi', documents: ['hello', 'goodbye'] }] as const)
        : (['chat/completions', { messages: [{ role: 'user', content: 'hi' }] }] as const);
  // On two lines: it fits into a narrow place.
  const body = JSON.stringify({ model, ...what }).replace(/,(?="(messages|input|prompt|query)")/, ',\n       ');
  if (kind === 'curl')
    return `curl ${site}/v1/${path} \\\n  -H "Authorization: Bearer $OPENAI_API_KEY" \\\n  -H "Content-Type: application/json" \\\n  -d '${body}'`;
  if (kind === 'Python')
    return `import os, requests\n\nanswer = requests.post(\n    "${site}/v1/${path}",\n    headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},\n    json=${body},\n)\nprint(answer.json())`;
  return `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${site}/v1' });\nconst answer = await client.post('/${path}', {\n  body: ${body},\n});\nconsole.log(answer);`;
}

export function CallExample({ title, model }: { readonly title: string; readonly model: string }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<(typeof kinds)[number]>('curl');
  const text = snippetOf(kind, model, useServerAddress());
  return (
    <Card
      title={title}
      actions={
        <>
          <Segment label={title} value={kind} options={kinds.map((one) => [one, one] as const)} onChange={setKind} />
          <button type="button" className="button" aria-label={t('app.copyCommand')} onClick={() => copyOrShow(text)}>
            <Icon name="copy" />
            {t('app.copy')}
          </button>
        </>
      }
    >
      <Scrolls as="pre" className="code-sample rounded-2 bg-sunken font-mono text-[12px] leading-5">
        <code>{text}</code>
      </Scrolls>
    </Card>
  );
}
