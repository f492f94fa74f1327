/** Every provider that can be played, by the name it is asked for; their doubles are loaded when one is. */
export const doubleNames: readonly string[] =
  'openai azure anthropic gemini mistral groq cerebras bedrock openrouter together perplexity xai deepseek moonshot zhipu cohere ollama ali minimax fireworks siliconflow volcengine zhipu-signed vertex'.split(
    ' ',
  );
