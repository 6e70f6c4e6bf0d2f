"""Writes a tiny model with random weights as a GGUF file.

It has the shape and the special tokens of Qwen2.5-Coder and a vocabulary of
single bytes, so a server takes every request that it takes with the real
model (plain, fill-in-the-middle with further files, chat). What it answers is
noise, and often no valid UTF-8.
"""

import argparse

import gguf
import numpy

HEAD_WIDTH = 16

SPECIAL_TOKENS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
]

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def byte_letters():
    """The letter that a byte-level vocabulary writes for each byte.

    Printable bytes stand for themselves; the others get the letters from
    U+0100 on, in their order. This is GPT-2's table, which the file format
    takes for granted.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {}
    spare = 0x100
    for byte in range(256):
        if byte in printable:
            letters[byte] = chr(byte)
        else:
            letters[byte] = chr(spare)
            spare += 1
    return [letters[byte] for byte in range(256)]


class Weights:
    """Uniform random numbers made from whole-number arithmetic alone.

    The raw output of a generator is promised to stay the same between
    releases and processors; its derived distributions are not.
    """

    def __init__(self, seed):
        self.bits = numpy.random.PCG64(seed)

    def take(self, *shape, scale):
        count = int(numpy.prod(shape))
        # 24 bits fit a 32-bit float exactly.
        whole = (self.bits.random_raw(count) >> numpy.uint64(40)).astype(numpy.float32)
        unit = whole / numpy.float32(1 << 23) - numpy.float32(1)
        return (unit * numpy.float32(scale)).reshape(shape)


def write(path, layers, width, seed):
    letters = byte_letters()
    space = letters[0x20]
    # The format insists on at least one merge rule, and that on its result.
    tokens = [*letters, space + space, *SPECIAL_TOKENS]
    first_special = len(tokens) - len(SPECIAL_TOKENS)
    identity = {text: first_special + i for i, text in enumerate(SPECIAL_TOKENS)}

    heads = width // HEAD_WIDTH
    key_heads = heads // 2
    key_width = key_heads * HEAD_WIDTH
    inner = 2 * width

    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_name("tiny random weights")
    writer.add_context_length(32768)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(key_heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1000000.0)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)

    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(
        [gguf.TokenType.NORMAL] * first_special
        + [gguf.TokenType.CONTROL] * len(SPECIAL_TOKENS)
    )
    writer.add_token_merges([f"{space} {space}"])
    writer.add_add_bos_token(False)
    writer.add_bos_token_id(identity["<|endoftext|>"])
    writer.add_eos_token_id(identity["<|endoftext|>"])
    writer.add_eot_token_id(identity["<|im_end|>"])
    writer.add_pad_token_id(identity["<|fim_pad|>"])
    keys = gguf.Keys.Tokenizer
    writer.add_uint32(keys.FIM_PRE_ID, identity["<|fim_prefix|>"])
    writer.add_uint32(keys.FIM_SUF_ID, identity["<|fim_suffix|>"])
    writer.add_uint32(keys.FIM_MID_ID, identity["<|fim_middle|>"])
    writer.add_uint32(keys.FIM_PAD_ID, identity["<|fim_pad|>"])
    writer.add_uint32(keys.FIM_REP_ID, identity["<|repo_name|>"])
    writer.add_uint32(keys.FIM_SEP_ID, identity["<|file_sep|>"])
    writer.add_chat_template(CHAT_TEMPLATE)

    random = Weights(seed)

    def matrix(name, rows, columns, scale=None):
        # A matrix of this scale keeps the length of what it multiplies.
        scale = (3.0 / columns) ** 0.5 if scale is None else scale
        writer.add_tensor(f"{name}.weight", random.take(rows, columns, scale=scale))

    def bias(name, size):
        writer.add_tensor(f"{name}.bias", random.take(size, scale=0.1))

    def norm(name):
        writer.add_tensor(f"{name}.weight", numpy.ones(width, dtype=numpy.float32))

    matrix("token_embd", len(tokens), width, scale=1.0)
    for layer in range(layers):
        block = f"blk.{layer}"
        norm(f"{block}.attn_norm")
        for part, size in (("q", width), ("k", key_width), ("v", key_width)):
            matrix(f"{block}.attn_{part}", size, width)
            bias(f"{block}.attn_{part}", size)
        matrix(f"{block}.attn_output", width, width)
        norm(f"{block}.ffn_norm")
        matrix(f"{block}.ffn_gate", inner, width)
        matrix(f"{block}.ffn_up", inner, width)
        matrix(f"{block}.ffn_down", width, inner)
    norm("output_norm")
    matrix("output", len(tokens), width)

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--width", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("path")
    options = parser.parse_args()
    write(options.path, options.layers, options.width, options.seed)


if __name__ == "__main__":
    main()
