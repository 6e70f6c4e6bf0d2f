/** The kinds of servers that "Connect a Model" offers, and how each is reached. */

/** A kind of model server. */
export interface Provider {
  /** Its name in the list. */
  label: string;
  /** Its description in the list. */
  detail: string;
  /** `model.protocol`. */
  protocol: string;
  /** The name that its table in `fillrate.toml` gets if no other has it. */
  name: string;
  /** The address that its own documentation gives. */
  url: string;
  /** The model's name that is proposed; `undefined` if the server has one model and needs no name. */
  model?: string;
  /** The environment variable that its key is passed in; `undefined` if it takes none. */
  key?: string;
  /** True if requests fail without a key. */
  needsKey?: true;
}

/** All of them, in the order of the list: first those that run on this machine. */
export const PROVIDERS: readonly Provider[] = [
  {
    label: "llama.cpp",
    detail: "llama-server on this machine: it writes the prompt itself",
    protocol: "llama-infill",
    name: "llama",
    url: "http://127.0.0.1:8080",
  },
  {
    label: "Ollama",
    detail: "Ollama on this machine",
    protocol: "ollama-generate",
    name: "ollama",
    url: "http://127.0.0.1:11434",
    model: "qwen2.5-coder:1.5b-base",
  },
  {
    label: "OpenAI-compatible server",
    detail: "A model trained to fill in, at /v1/completions: vLLM, LM Studio, llama.cpp and others",
    protocol: "openai-completions",
    name: "server",
    url: "http://127.0.0.1:1234/v1",
    model: "qwen2.5-coder-1.5b",
    key: "FILLRATE_SERVER_KEY",
  },
  {
    label: "Codestral",
    detail: "Mistral's API for filling in; your code goes to Mistral",
    protocol: "mistral-fim",
    name: "codestral",
    url: "https://codestral.mistral.ai",
    model: "codestral-latest",
    key: "CODESTRAL_API_KEY",
    needsKey: true,
  },
  {
    label: "DeepSeek",
    detail: "DeepSeek's API for filling in; your code goes to DeepSeek",
    protocol: "deepseek-fim",
    name: "deepseek",
    url: "https://api.deepseek.com",
    model: "deepseek-chat",
    key: "DEEPSEEK_API_KEY",
    needsKey: true,
  },
  {
    label: "Mercury",
    detail: "Inception's API for filling in; your code goes to Inception",
    protocol: "inception-fim",
    name: "mercury",
    url: "https://api.inceptionlabs.ai",
    model: "mercury-coder",
    key: "INCEPTION_API_KEY",
    needsKey: true,
  },
  {
    label: "Chat model of an OpenAI-compatible API",
    detail: "OpenAI, OpenRouter, Gemini, Groq and others; your code goes to the address you name",
    protocol: "openai-chat",
    name: "chat",
    url: "https://api.openai.com/v1",
    model: "gpt-4.1-mini",
    key: "OPENAI_API_KEY",
    needsKey: true,
  },
  {
    label: "Claude",
    detail: "Anthropic's API, which asks a chat model; your code goes to Anthropic",
    protocol: "anthropic-messages",
    name: "claude",
    url: "https://api.anthropic.com",
    model: "claude-haiku-4-5",
    key: "ANTHROPIC_API_KEY",
    needsKey: true,
  },
];

/** Returns what is wrong with an address, as a sentence; `undefined` if it can be used. */
export function addressProblem(address: string): string | undefined {
  if (!/^https?:\/\//i.test(address)) {
    return /^[\w.-]+(:\d+)?(\/\S*)?$/.test(address)
      ? `Put http:// or https:// before it: http://${address}`
      : "Write an address such as http://127.0.0.1:8080.";
  }
  if (!URL.canParse(address)) {
    return "Write an address such as http://127.0.0.1:8080.";
  }
  const { username, password } = new URL(address);
  return username === "" && password === ""
    ? undefined
    : "Leave out the user and the password: the key is asked for later.";
}
